"""A record for human eyes and other programs. Everything here reads only the record, and none of it does any I/O.

The terminal's parts return lines of text; ``html.render`` returns one page that stands by itself.
"""
