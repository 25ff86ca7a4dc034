"""Examples for the help of each command: what is typed, and what it does."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "search": (
        ('codekernel search "where are sessions closed"', "by meaning and words, in this project"),
        ("codekernel search -l -t python Session.close", "the files that define or use a name"),
        ("codekernel search -F 'retry = 3'", "an exact text; -i ignores capitals"),
        ('codekernel search --repo ../api --repo ../web "login form"', "two repositories together"),
        ('codekernel search -a "rate limit" -n 20', "all repositories that are known"),
        (
            "codekernel search https://host/team/lib.git parser",
            "a repository that is cloned for it",
        ),
        ("codekernel search --scope web 'open socket' --open", "one package; opens the best hit"),
    ),
    "impact": (
        (
            "codekernel impact src/auth.py:40",
            "what a change of this function reaches, and its tests",
        ),
        ("codekernel impact src/auth.py", "of everything in the file"),
        ("codekernel impact Session.close --depth 5", "of a definition by its name, further away"),
    ),
    "history": (
        (
            "codekernel history src/auth.py:40-60",
            "the commits behind these lines, and their reasons",
        ),
        ("codekernel history Session.close", "behind a definition"),
    ),
    "related": (
        ("codekernel related src/auth.py:40", "code like the code at this line"),
        ("codekernel related src/auth.py:40 -l", "the files alone"),
    ),
    "savings": (("codekernel savings", "what agents did not read because they searched"),),
    "ask": (
        ('codekernel ask "How does a session end?"', "an answer with checked citations"),
        ('codekernel ask --continue "And on a crash?"', "go on with the last conversation"),
    ),
    "agent": (
        ('codekernel agent "add a --quiet option to the CLI"', "plan, edit and check"),
        ("codekernel agent --allow runs 'make the tests pass'", "it may also run commands"),
        ("codekernel agent --undo", "take back what the last session changed"),
    ),
    "web": (
        ("codekernel web", "the app in your browser"),
        ("codekernel web --no-browser ../api", "only print the address"),
    ),
    "backend": (
        ("codekernel backend --http 8080 --root .", "tasks over HTTP"),
        ("codekernel backend --stdio --root .", "tools as lines of JSON"),
    ),
    "mcp": (
        ("codekernel mcp", "as a coding agent starts it, over stdin and stdout"),
        ("codekernel mcp --http 8123", "several agents at once"),
    ),
    "install": (
        ("codekernel install", "into all coding agents that are found: shows, then asks"),
        ("codekernel install --agent codex --dry-run", "only show what would change"),
        ("codekernel install --project --with instructions", "for everybody on this project"),
    ),
    "uninstall": (("codekernel uninstall", "take away exactly what install added"),),
    "acp": (("codekernel acp", "as Zed or another editor starts it"),),
    "ide-tools": (("codekernel ide-tools --listen 9000", "be dialled by the backend"),),
    "serve": (("codekernel serve", "as a front end starts it"),),
    "status": (("codekernel status", "the kernel that your programs share"),),
    "stop": (("codekernel stop", "end it"),),
    "repos": (
        ("codekernel repos", "all repositories and their indexes"),
        ("codekernel repos clean --dry-run", "which indexes and clones would be deleted"),
        ("codekernel repos remove api", "forget one and delete its index"),
    ),
    "models": (("codekernel models", "what is in the box, and your own"),),
    "eval": (
        ("codekernel eval --commits 100", "which model or reranker helps on your commits"),
        ("codekernel eval --tune", "learn weights from your commits; kept only if they hold"),
    ),
    "doctor": (
        ("codekernel doctor", "what works and what is wrong"),
        ("codekernel doctor why src/auth.py login", "is it indexed, and where does it rank"),
    ),
    "hub": (
        ("codekernel hub", "your agents on your phone, in this network"),
        ("codekernel hub join https://host:7443 --code 123456", "add this machine to a hub"),
    ),
    "share": (("codekernel share status", "what the store of your team holds"),),
    "pack": (
        ("codekernel pack build", "index a commit and send the index to the team"),
        ("codekernel pack pull", "open this repository with the nearest index of the team"),
    ),
    "build-base": (
        (
            "codekernel build-base platform --repos all.txt",
            "many repositories in one table of the team's store",
        ),
        (
            "codekernel build-base platform --repo ../api --repo web=../www/site",
            "some, one of them under another name",
        ),
    ),
    "team": (
        ("codekernel team token add ci", "a token of the team's server, shown once"),
        ("codekernel team token revoke ci", "refuse all tokens of ci from now on"),
    ),
    "key": (("codekernel key set deepseek", "asks for the key and keeps it encrypted"),),
    "completion": (("source <(codekernel completion bash)", "in ~/.bashrc"),),
    "man": (("codekernel man > codekernel.1", "the manual page, made of this help"),),
}
