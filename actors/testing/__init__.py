"""Public fakes for tests of programs, tools and the engine itself, held to the contracts of the real ones."""
