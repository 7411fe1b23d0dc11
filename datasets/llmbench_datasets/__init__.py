"""Tasks, suites and hidden tests, shipped as data; ``README.md`` describes the format for authors."""
