"""Readers of public benchmarks' files and of users' own tables, one format a module.

Each module offers an :class:`~llmbench_mcp.catalog.importers.importer.Importer` under the entry-point group
``llmbench.importers``. A reader turns a :class:`~llmbench_mcp.catalog.importers.bundle.Bundle` of files into items;
it runs nothing that it reads.
"""
