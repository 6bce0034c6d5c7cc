"""What happened in a recording: gathered as it is read (`contents`), and written in four formats."""
