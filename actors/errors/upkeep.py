"""What the upkeep of a store can refuse."""

from actors.errors.base import UsageError


class BackupExistsError(UsageError):
    """A backup never replaces a file."""

    code = "BACKUP_EXISTS"
    status_hint = 409

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"there is a file {self.path}: name a new one, or remove it first"


class UpkeepUnsupportedError(UsageError):
    """The store is not one file that the engine looks after."""

    code = "UPKEEP_UNSUPPORTED"
    status_hint = 501

    def __init__(self, verb: str, store: str) -> None:
        super().__init__(verb, store)
        self.verb, self.store = verb, store

    def __str__(self) -> str:
        return f"{self.verb} is for a store on a file, not for a {self.store}: a database server has tools of its own"
