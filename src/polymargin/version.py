"""The version, in a module that everything can import."""

__version__ = "0.1.0"
