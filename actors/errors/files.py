"""What the file tools refuse; the texts are written for the model that made the call."""

from actors.errors.base import DeniedError, ToolError


class FileToolError(ToolError):
    """A file tool cannot do it with this path; ``why`` says what to do instead."""

    code = "FILE_FAILED"

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path, self.why = path, why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


class FileMissingError(FileToolError):
    """There is nothing of that name."""

    code = "FILE_NOT_FOUND"


class FileLinkError(FileToolError):
    """The path goes over a symbolic link, and links are not followed."""

    code = "FILE_IS_LINK"


class FileKindError(FileToolError):
    """It is a folder where a file is wanted, the other way round, or something else altogether."""

    code = "FILE_KIND"


class FileTooLargeError(FileToolError):
    """It is larger than the tool takes."""

    code = "FILE_TOO_LARGE"


class FileNotTextError(FileToolError):
    """It is no UTF-8 text."""

    code = "FILE_NOT_TEXT"


class FileChangedError(FileToolError):
    """Somebody changed it in the meantime; nothing was written."""

    code = "FILE_CHANGED"
    retryable = True


class EditNotFoundError(FileToolError):
    """The text to replace does not occur in the file."""

    code = "EDIT_NOT_FOUND"


class EditAmbiguousError(FileToolError):
    """The text to replace occurs more than once."""

    code = "EDIT_AMBIGUOUS"


class FileOutsideError(DeniedError):
    """The path leads out of the folders that the tools may touch."""

    code = "FILE_OUTSIDE_ROOTS"

    def __init__(self, path: str, roots: tuple[str, ...]) -> None:
        super().__init__(path, roots)
        self.path, self.roots = path, roots

    def __str__(self) -> str:
        return f"{self.path} is outside of what the file tools may touch: {', '.join(self.roots)}"


class FilesReadOnlyError(DeniedError):
    """The files may be read only."""

    code = "FILES_READ_ONLY"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} was not changed: the sandbox mode is read-only"
