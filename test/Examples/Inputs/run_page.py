"""Writes the files of a page of docs/ and runs its commands, as a reader does.

    python run_page.py PAGE.md FOLDER BIN      BIN: the folder of braidc

A fenced block that begins with `# NAME` is a file; a `sh` block is run by sh in FOLDER, and the first command that fails
ends it all. What the commands print is printed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path


def main():
    page, folder, tools = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE):
        if language == "sh":
            subprocess.run(["sh", "-ec", text], cwd=folder, env=os.environ | {"PATH": path}, stderr=subprocess.STDOUT, check=True)
        elif name := re.match(r"# (\S+)\n", text):
            (folder / name[1]).write_text(text)
        else:
            sys.exit(f"{page}: a block of {language} says not which file it is: begin it with '# NAME'")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
