"""The command line: a module for each command, with its request; `main` lists them, `derive` makes their options."""
