"""What the command line can do: thin layers that read options and print answers."""
