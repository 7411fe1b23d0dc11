"""Benchmark language models from an MCP client or the command line."""

__version__ = "0.1.0"
