"""Prompt templates offered to clients, shipped as data."""
