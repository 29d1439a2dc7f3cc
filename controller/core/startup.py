"""The startup script as it goes into an instance template."""


def rendered(script: str) -> str:
    """The script without the lines that are nothing but comments, its first line aside.

    It travels with every read and write of a VM's metadata: a quarter of it would be explained to nobody.
    """
    first, *rest = script.splitlines(keepends=True)
    return first + "".join(line for line in rest if not line.lstrip().startswith("#"))
