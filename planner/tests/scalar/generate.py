"""Asks PostgreSQL 15 what each expression of *.txt is and writes *.golden. Run once; PGHOST etc. name the server.

Each line of a golden file: expression, tab, `=` and the text form (newlines as \\n), `null`, or `!` SQLSTATE message.
"""
import glob, os, subprocess

directory = os.path.dirname(os.path.abspath(__file__))
for path in sorted(glob.glob(os.path.join(directory, "*.txt"))):
    with open(path) as source:
        expressions = [line.rstrip("\n") for line in source if line.strip()]
    script = ["\\set VERBOSITY verbose", "SET timezone = 'Europe/Berlin';", "SET client_min_messages = error;", "\\pset tuples_only on", "\\pset format unaligned", "\\pset null '<NULL>'"]
    for expression in expressions:
        script.append("\\echo '<<<'")
        script.append(f"SELECT ({expression})::text;")
    done = subprocess.run(["psql", "-qX", "-d", "postgres"], input="\n".join(script), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    answers = done.stdout.split("<<<\n")[1:]
    assert len(answers) == len(expressions), (path, len(answers), len(expressions))
    with open(path.removesuffix(".txt") + ".golden", "w") as golden:
        for expression, answer in zip(expressions, answers):
            answer = answer.removesuffix("\n")
            error = next((line for line in answer.split("\n") if line.startswith("ERROR:  ")), None)
            if error:
                code, message = error.removeprefix("ERROR:  ").split(": ", 1)
                shown = f"!{code} {message}"
            elif answer == "<NULL>":
                shown = "null"
            else:
                shown = "=" + answer.replace("\\", "\\\\").replace("\n", "\\n")
            golden.write(f"{expression}\t{shown}\n")
