"""What is said on the wire: the envelope, one declaration per message, and the codec.

msgspec and camelCase stop at this door; everything inside the house is snake_case and plain values.
"""
