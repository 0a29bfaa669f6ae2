"""Variables that decide which program runs, or make one run another."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["hands_options", "secret", "sensitive"]

_NAMES: Final = frozenset(
    [
        "PATH",
        "ENV",
        "IFS",
        "HOME",
        "PWD",
        "OLDPWD",
        "CDPATH",
        "SHELL",
        "SHELLOPTS",
        "GLOBIGNORE",
        "FPATH",
        "ZDOTDIR",
        "VISUAL",
        "BROWSER",
        "INPUTRC",
        "PROMPT_COMMAND",
        "PS0",
        "PS1",
        "PS2",
        "PS4",
        "FCEDIT",
        "HISTFILE",
        "HISTCMD",
        "GCONV_PATH",
        "LOCPATH",
        "NLSPATH",
        "HOSTALIASES",
        "GH_HOST",
        "GH_REPO",
        "GH_CONFIG_DIR",
        "TERMINFO",
        "TERMCAP",
        "XDG_CONFIG_HOME",
        "XDG_CONFIG_DIRS",
        "XDG_DATA_DIRS",
        "MAKEFLAGS",
        "MAKEFILES",
        "MFLAGS",
        "GNUMAKEFLAGS",
        "CC",
        "CXX",
        "LD",
        "AR",
        "CPP",
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "OPENSSL_CONF",
        "OPENSSL_MODULES",
        "CURL_HOME",
        "WGETRC",
        "PSQLRC",
        "PGSERVICEFILE",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "JAVA_OPTS",
        "MAVEN_OPTS",
        "GRADLE_OPTS",
        "CLASSPATH",
        "GOFLAGS",
        "GOPROXY",
        "GONOSUMDB",
        "GONOSUMCHECK",
        "GOSUMDB",
        "GOINSECURE",
        "GOPRIVATE",
        "GOTOOLCHAIN",
        "GOROOT",
        "GOENV",
        "GOWORK",
        "GOPATH",
        "GOMODCACHE",
        "GRADLE_USER_HOME",
        "M2_HOME",
        "MAVEN_ARGS",
        "MAVEN_CONFIG",
        "SBT_OPTS",
        "STACK_YAML",
        "SPEC_OPTS",
        "RAKEOPT",
        "RUBOCOP_OPTS",
        "MYPYPATH",
        "PYLINTRC",
        "MIX_EXS",
        "SWIFT_EXEC",
        "DOTNET_STARTUP_HOOKS",
        "CGO_CFLAGS",
        "CGO_LDFLAGS",
        "R_PROFILE",
        "R_PROFILE_USER",
        "R_ENVIRON",
        "LUA_INIT",
        "LUA_PATH",
        "LUA_CPATH",
        "TCLLIBPATH",
        "GUILE_LOAD_PATH",
        "EXINIT",
        "VIMINIT",
        "MYVIMRC",
        "EMACSLOADPATH",
        "DOCKER_HOST",
        "KUBECONFIG",
        "SIMPLE_BACKUP_SUFFIX",
        "RSH",
        "RMT",
        "ZIP",
        "ZIPOPT",
        "ZIPINFO",
        "ZIPINFOOPT",
        "UNZIP",
        "UNZIPOPT",
        "GZIP",
        "BZIP",
        "BZIP2",
        "XZ_OPT",
        "XZ_DEFAULTS",
        "ACKRC",
        "RIPGREP_CONFIG_PATH",
        "BAT_CONFIG_PATH",
        "APT_CONFIG",
        "COMPILER_PATH",
        "GCC_EXEC_PREFIX",
        "GCC_SPECS",
        "CCC_OVERRIDE_OPTIONS",
        "CLANG_CONFIG_FILE_USER_DIR",
        "RSYNC_RSH",
        "RSYNC_OLD_ARGS",
        "CVS_RSH",
        "SVN_SSH",
        "PERLLIB",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "NPM_TOKEN",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "POSIXLY_CORRECT",
        "OPTIND",
        "FUNCNEST",
        "EPOCHSECONDS",
    ]
)
_PREFIXES: Final = (
    "LD_", "DYLD_", "BASH", "PYTHON", "NODE_", "PERL5", "RUBY", "GIT_", "CARGO_", "PIP_", "UV_", "NPM_CONFIG_",
    "npm_config_", "YARN_", "PNPM_", "BUN_", "LESS", "LUA_INIT_", "LUA_PATH_", "LUA_CPATH_", "GEM_", "BUNDLE_",
    "COMPOSER_", "PYTEST_", "PAGER", "MAN", "EDITOR", "RUSTC_", "CMAKE_", "MALLOC_",
    "RUSTUP_", "COVERAGE_", "TS_NODE_", "CORECLR_", "ERL_", "ELIXIR_",
)  # fmt: skip
_SUFFIXES: Final = ("PAGER", "EDITOR", "_OPTIONS", "_WRAPPER", "_COMMAND", "_ASKPASS", "_PRELOAD", "_OPTS")
_HARMLESS: Final = frozenset({"NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS"} | {"GIT_TERMINAL_PROMPT", "CARGO_TERM_COLOR", "GIT_OPTIONAL_LOCKS"})  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def sensitive(name: str) -> bool:
    """Tell whether setting a variable can change which code runs; a name that is none may hide a subscript, which can."""
    if name in _HARMLESS:
        return False
    return not _NAME.match(name) or name in _NAMES or name.startswith(_PREFIXES) or name.upper().endswith(_SUFFIXES)


_SECRETS: Final = (
    "TOKEN", "SECRET", "PASSW", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL",
)  # fmt: skip


_ENDS: Final = ("_KEY", "_KEYS", "_PAT", "_AUTH", "_DSN", "_PASS", "_PWD", "_CREDS", "_WEBHOOK", "_WEBHOOK_URL")
_ADDRESS: Final = re.compile(
    r"(?:\w*_)?(?:DATABASE|DB|REDIS|MONGO\w*|POSTGRES\w*|PG|MYSQL|MARIADB|SQLALCHEMY\w*|AMQP|RABBITMQ|BROKER|CLOUDAMQP"
    r"|ELASTIC\w*|SMTP|MAILER|JDBC|SENTRY)_(?:UR[IL]|CONNECTION(?:_STRING)?)|\w+_CONNECTION_?STRING"
)
"""Names, in capitals, of variables with the address of a service, which often has a password in it."""


def secret(name: str) -> bool:
    """Tell whether a variable is named like one that holds a token, a password, or an address with one in it.

    What the environment hands on is written in capitals; a name of a script's own, such as `sort_key`, is no such thing.
    """
    return any(word in name.upper() for word in _SECRETS) or name.endswith(_ENDS) or bool(_ADDRESS.fullmatch(name))


_FLAGS: Final = frozenset({"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "FFLAGS"})
_PLAIN_FLAG: Final = re.compile(
    r"-(?:O[0-3sgz]?|g[0-3]?|std=[\w+]+|[DU]\w+(?:=\w+)?|W(?!l,|p,|a,)[\w-]+(?:=\w+)?|f(?:no-|sanitize=|stack-)[\w,-]+|f?PIC"
    r"|m(?:arch|tune|cpu)=[\w.+-]+|pthread|pipe|static|l\w+)"
)
"""Options of compilers that neither bring nor write a file."""


def hands_options(name: str, value: str) -> bool:
    """Tell whether the value of a variable holds options for whichever program takes some from there."""
    given = [piece for piece in value.split() if re.match("--?[A-Za-z]", piece)]
    return bool(given) and not (name in _FLAGS and all(map(_PLAIN_FLAG.fullmatch, given)))
