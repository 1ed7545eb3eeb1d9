"""What keeps a model from being opened by its name, and who must act."""

from collections.abc import Sequence

from actors.errors.base import ModelError, UsageError


class ModelNameError(UsageError):
    """The name says no known provider, or no model."""

    code = "MODEL_NAME_UNKNOWN"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name, tuple(known))
        self.name, self.known = name, tuple(known)

    def __str__(self) -> str:
        return f"no model {self.name!r}: give {', '.join(self.known[:-1])} or {self.known[-1]}"


class ModelExtraError(UsageError):
    """The provider's SDK is not installed."""

    code = "MODEL_EXTRA_MISSING"

    def __init__(self, name: str, extra: str) -> None:
        super().__init__(name, extra)
        self.name, self.extra = name, extra

    def __str__(self) -> str:
        return f"{self.name} needs an extra: pip install 'greenroom[{self.extra}]'"


class ModelKeyError(ModelError):
    """The variable with the provider's key is not set."""

    code = "MODEL_KEY_MISSING"

    def __init__(self, name: str, variable: str) -> None:
        super().__init__(name, variable)
        self.name, self.variable = name, variable

    def __str__(self) -> str:
        return f"{self.name} needs a key: set the environment variable {self.variable}"


class DemoModelError(ModelError):
    """The demo model is not there, or cannot be started."""

    code = "MODEL_DEMO_UNAVAILABLE"
    retryable = True

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the demo model {self.why}: run `greenroom demo-model` in another terminal"


class CatalogueError(UsageError):
    """A catalogue of models, or one entry of it, cannot be read."""

    code = "MODEL_CATALOGUE_INVALID"

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where, self.why = where, why

    def __str__(self) -> str:
        return f"catalogue of models, {self.where}: {self.why}"
