"""Where secrets stand: lines of configuration, source, commands, logs and credential files."""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from trust_secrets_kinds import Kind, draw


def _snake(kind: Kind) -> str:
    return kind.variable.lower()


def _camel(kind: Kind) -> str:
    first, *others = kind.variable.lower().split("_")
    return first + "".join(map(str.capitalize, others))


def _kebab(kind: Kind) -> str:
    return _snake(kind).replace("_", "-")


Write = Callable[[Kind, str], str]

# For values that can be told by themselves: nothing around them says what they are.
NEUTRAL: dict[str, Write] = {
    "python": lambda _, v: f'client = Client("{v}", timeout=3)\n',
    "javascript": lambda _, v: f"const c = new Client('{v}');\n",
    "go": lambda _, v: f'\tc := client.New("{v}")\n',
    "comment": lambda _, v: f"# rotate {v} next week\n",
    "block comment": lambda _, v: f"/* was {v} until May */\n",
    "log": lambda _, v: f"2026-03-01 12:00:01 INFO worker-3 got {v} from upstream\n",
    "header": lambda _, v: f"curl -H 'X-Thing: {v}' https://host.example/\n",
    "query": lambda _, v: f"GET /v1/items?x={v}&page=2 HTTP/1.1\n",
    "list": lambda _, v: f'values = ["first", "{v}"]\n',
    "xml": lambda _, v: f"<entry>{v}</entry>\n",
    "json": lambda _, v: json.dumps({"value": v}) + "\n",
    "json in json": lambda _, v: json.dumps({"body": json.dumps({"value": v})}) + "\n",
    "escaped line": lambda _, v: json.dumps({"stdout": f"first\n{v}\nlast"}) + "\n",
    "patch": lambda _, v: f"-    old\n+    {v}\n",
    "numbered": lambda _, v: f"   7 |   {v}\n",
    "markdown": lambda _, v: f"Use `{v}` for staging.\n",
}
# For all values: the name says what they are.
ASSIGNED: dict[str, Write] = {
    "env": lambda k, v: f"PORT=80\n{k.variable}={v}\nDEBUG=1\n",
    "env quoted": lambda k, v: f'{k.variable}="{v}"\n',
    "export": lambda k, v: f"export {k.variable}={v}\n",
    "dockerfile": lambda k, v: f"FROM x\nENV {k.variable}={v}\n",
    "compose": lambda k, v: f"    environment:\n      - {k.variable}={v}\n",
    "compose map": lambda k, v: f"    environment:\n      {k.variable}: {v}\n",
    "kubernetes env": lambda k, v: f"  - name: {k.variable}\n    value: {v}\n",
    "yaml": lambda k, v: f"service:\n  {_snake(k)}: {v}\n",
    "yaml quoted": lambda k, v: f"  {_camel(k)}: '{v}'\n",
    "json": lambda k, v: json.dumps({"a": 1, _camel(k): v}, indent=2) + "\n",
    "json in json": lambda k, v: json.dumps({"body": json.dumps({_snake(k): v})}) + "\n",
    "properties": lambda k, v: f"app.{_kebab(k).replace('-', '.')}={v}\n",
    "ini": lambda k, v: f"[main]\n{_snake(k)} = {v}\n",
    "toml": lambda k, v: f'[main]\n{_snake(k)} = "{v}"\n',
    "python": lambda k, v: f'{k.variable} = "{v}"\n',
    "python typed": lambda k, v: f'    {_snake(k)}: str = "{v}"\n',
    "python environ": lambda k, v: f'os.environ["{k.variable}"] = "{v}"\n',
    "python argument": lambda k, v: f'connect(host="h", {_snake(k)}="{v}")\n',
    "javascript": lambda k, v: f"const {_camel(k)} = '{v}';\n",
    "typescript": lambda k, v: f"  private readonly {_camel(k)}: string = '{v}';\n",
    "object": lambda k, v: f"  {_camel(k)}: '{v}',\n",
    "go": lambda k, v: f'\t{_camel(k)} := "{v}"\n',
    "java": lambda k, v: f'    private static final String {k.variable} = "{v}";\n',
    "csharp": lambda k, v: f'    public const string {_camel(k)} = @"{v}";\n',
    "c": lambda k, v: f'#define {k.variable} "{v}"\n',
    "rust": lambda k, v: f'const {k.variable}: &str = "{v}";\n',
    "ruby": lambda k, v: f"config[:{_snake(k)}] = '{v}'\n",
    "php": lambda k, v: f"define('{k.variable}', '{v}');\n",
    "php array": lambda k, v: f"    '{_snake(k)}' => '{v}',\n",
    "terraform": lambda k, v: f'  {_snake(k)}     = "{v}"\n',
    "xml": lambda k, v: f"  <{_camel(k)}>{v}</{_camel(k)}>\n",
    "app settings": lambda k, v: f'<add key="{_camel(k)}" value="{v}" />\n',
    "flag": lambda k, v: f"tool --{_kebab(k)} {v} --verbose\n",
    "flag equals": lambda k, v: f"tool --{_kebab(k)}={v}\n",
    "log": lambda k, v: f"2026-03-01 12:00:01 DEBUG connecting with {_snake(k)}={v}\n",
    "setter": lambda k, v: f'client.set{_camel(k)[0].upper()}{_camel(k)[1:]}("{v}");\n',
    "grep": lambda k, v: f"config/prod.env:12:{k.variable}={v}\n",
    "patch": lambda k, v: f"+{k.variable}={v}\n",
    "numbered": lambda k, v: f"  12 | {k.variable}={v}\n",
    "inline": lambda k, v: f"{k.variable}={v} ./run.sh\n",
    "url": lambda k, v: f"https://host.example/x?{_snake(k)}={quote(v, safe='')}&y=1\n",
}


@dataclass(frozen=True, slots=True)
class Structure:
    """A kind of secret that is told by what stands around it."""

    name: str
    shape: str
    write: Callable[[str], str]

    encode: Callable[[str], str] = str

    def texts(self, rng: random.Random) -> tuple[str, str]:
        """Return a secret, as it is written there, and the text it stands in."""
        secret = self.encode(draw(self.shape, rng))
        return secret, self.write(secret)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _build_encoded(name: str, shape: str, before: str, after: str, prefix: str = "") -> Structure:
    """A secret that stands there in base64, behind ``prefix``: that base64 must not get out."""
    return Structure(name, shape, lambda v: before + v + after, lambda v: _b64(prefix + v))


_PASS, _SHORT, _WORD = "{strong:14}", "{word:8}", "{word:12}"
STRUCTURES: tuple[Structure, ...] = (
    Structure(
        "postgres url", _WORD, lambda v: f"DATABASE_URL=postgres://app:{v}@db.host:5432/app\n"
    ),
    Structure("mysql url", _WORD, lambda v: f'url: "mysql://root:{v}@127.0.0.1/app"\n'),
    Structure("mongodb url", _WORD, lambda v: f"mongodb+srv://app:{v}@cluster0.host.net/db\n"),
    Structure("redis url", _WORD, lambda v: f"REDIS_URL=redis://:{v}@cache:6379/0\n"),
    Structure("amqp url", _WORD, lambda v: f"broker = 'amqps://svc:{v}@mq.host//'\n"),
    Structure("git credentials", _WORD, lambda v: f"https://joe:{v}@git.host.example\n"),
    Structure(
        "git remote token", "{word:40}", lambda v: f"\turl = https://{v}@git.host.example/a/b.git\n"
    ),
    Structure("ftp url", _SHORT, lambda v: f"ftp://backup:{v}@files.host/daily\n"),
    Structure("smtp url", _WORD, lambda v: f"smtps://mailer%40host:{v}@smtp.host:465\n"),
    Structure("bearer header", "{url:40}", lambda v: f"Authorization: Bearer {v}\n"),
    Structure(
        "bearer source", "{word:32}", lambda v: f'headers = {{"Authorization": "Bearer {v}"}}\n'
    ),
    Structure(
        "token header", "{hex:40}", lambda v: f"curl -H 'Authorization: token {v}' https://h/\n"
    ),
    Structure("apikey header", "{b64:60}==", lambda v: f"Authorization: ApiKey {v}\n"),
    Structure("x-api-key header", "{word:40}", lambda v: f"X-Api-Key: {v}\n"),
    Structure(
        "private-token header",
        "{url:24}",
        lambda v: f"curl --header 'PRIVATE-TOKEN: {v}' https://h/\n",
    ),
    Structure("vault header", "s.{word:24}", lambda v: f"X-Vault-Token: {v}\n"),
    Structure("session cookie", "{hex:40}", lambda v: f"Cookie: theme=dark; sessionid={v}\n"),
    Structure(
        "set-cookie", "{url:43}", lambda v: f"Set-Cookie: auth_session={v}; HttpOnly; Path=/\n"
    ),
    Structure("netrc line", _SHORT, lambda v: f"machine api.host login joe password {v}\n"),
    Structure("netrc lines", _PASS, lambda v: f"machine api.host\n  login joe\n  password {v}\n"),
    Structure("pgpass", _WORD, lambda v: f"db.host:5432:app:joe:{v}\n"),
    Structure("curl -u", _SHORT, lambda v: f"curl -u joe:{v} https://host.example/\n"),
    Structure("curl --user", _PASS, lambda v: f"curl -sS --user 'joe:{v}' https://host.example/\n"),
    Structure("wget", _WORD, lambda v: f"wget --user=joe --password={v} https://h/f\n"),
    Structure("mysql -p", _WORD, lambda v: f"mysqldump -h db -uroot -p{v} app > app.sql\n"),
    Structure("sshpass", _SHORT, lambda v: f"sshpass -p '{v}' ssh joe@host uptime\n"),
    Structure("docker login", _WORD, lambda v: f"docker login -u joe -p {v} registry.host\n"),
    Structure("redis-cli", _WORD, lambda v: f"redis-cli -h cache -a {v} ping\n"),
    Structure("pgpassword", _WORD, lambda v: f"PGPASSWORD={v} psql -h db -U app\n"),
    Structure(
        "password stdin", _WORD, lambda v: f"echo {v} | docker login -u joe --password-stdin\n"
    ),
    Structure("chpasswd", _SHORT, lambda v: f'echo "joe:{v}" | chpasswd\n'),
    Structure("openssl pass", _WORD, lambda v: f"openssl rsa -in k.pem -passin pass:{v}\n"),
    Structure("ldapsearch", _WORD, lambda v: f"ldapsearch -x -D cn=admin -w {v} -b dc=h\n"),
    Structure("npmrc token", "{uuid}", lambda v: f"//registry.host/:_authToken={v}\n"),
    Structure("pypirc", _PASS, lambda v: f"[pypi]\nusername = joe\npassword = {v}\n"),
    Structure(
        "jdbc", _WORD, lambda v: f"jdbc:mysql://db:3306/app?user=app&password={v}&useSSL=true\n"
    ),
    Structure(
        "jdbc sqlserver",
        _PASS,
        lambda v: f"jdbc:sqlserver://db;databaseName=a;user=sa;password={v};\n",
    ),
    Structure("ado.net", _WORD, lambda v: f'"Server=db;Database=app;User Id=sa;Password={v};"\n'),
    Structure("libpq", _WORD, lambda v: f"host=db dbname=app user=app password={v}\n"),
    Structure(
        "azure storage",
        "{b64:86}==",
        lambda v: f"AccountName=acme;AccountKey={v};EndpointSuffix=core.windows.net\n",
    ),
    Structure(
        "service bus",
        "{b64:43}=",
        lambda v: (
            f"Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={v}\n"
        ),
    ),
    Structure(
        "sas url",
        "{word:43}%3D",
        lambda v: (
            f"https://a.blob.core.windows.net/c/f?sv=2024-01-01&se=2026-01-01&sr=b&sp=r&sig={v}\n"
        ),
    ),
    Structure(
        "presigned url",
        "{hex:64}",
        lambda v: f"https://b.s3.amazonaws.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Signature={v}\n",
    ),
    Structure(
        "function url",
        "{url:54}==",
        lambda v: f"https://a.azurewebsites.net/api/f?code={quote(v)}\n",
    ),
    Structure("htpasswd", "$apr1${word:8}${word:22}", lambda v: f"joe:{v}\n"),
    Structure("bcrypt", "$2y$12${word:53}", lambda v: f"joe:{v}\n"),
    Structure("shadow", "$6${word:8}${word:86}", lambda v: f"joe:{v}:19000:0:99999:7:::\n"),
    Structure("wp-config", _PASS, lambda v: f"define( 'DB_PASSWORD', '{v}' );\n"),
    Structure(
        "maven settings",
        _WORD,
        lambda v: f"<server><username>joe</username><password>{v}</password></server>\n",
    ),
    Structure("web.config", _PASS, lambda v: f'<add key="Password" value="{v}"/>\n'),
    Structure("sql create user", _WORD, lambda v: f"CREATE USER app IDENTIFIED BY '{v}';\n"),
    Structure("sql alter role", _WORD, lambda v: f"ALTER ROLE app WITH PASSWORD '{v}';\n"),
    Structure("requests auth", _WORD, lambda v: f'requests.get(url, auth=("joe", "{v}"))\n'),
    Structure("basic auth call", _WORD, lambda v: f"HTTPBasicAuth('joe', '{v}')\n"),
    Structure(
        "kubeconfig token", "{url:120}", lambda v: f"users:\n- name: a\n  user:\n    token: {v}\n"
    ),
    Structure(
        "kubernetes stringData",
        _SHORT,
        lambda v: f"apiVersion: v1\nkind: Secret\nstringData:\n  db: {v}\n",
    ),
    Structure(
        "sentry dsn", "{hex:32}", lambda v: f"SENTRY_DSN=https://{v}@o123.ingest.sentry.io/456\n"
    ),
    Structure("otpauth", "{b32:32}", lambda v: f"otpauth://totp/Acme:joe?secret={v}&issuer=Acme\n"),
    Structure(
        "aws credentials file", "{b64:40}", lambda v: f"[default]\naws_secret_access_key = {v}\n"
    ),
    Structure("spring properties", _WORD, lambda v: f"spring.datasource.password={v}\n"),
    Structure("gradle properties", _WORD, lambda v: f"signing.password={v}\n"),
    Structure("yaml short", "{word:7}", lambda v: f"db:\n  user: app\n  password: {v}\n"),
    Structure("yaml list", _SHORT, lambda v: f"users:\n  - name: a\n    passwd: {v}\n"),
    Structure("smbclient", _WORD, lambda v: f"smbclient //srv/share -U joe%{v}\n"),
    Structure("htpasswd -b", _SHORT, lambda v: f"htpasswd -cb .htpasswd joe {v}\n"),
    Structure("cisco", "{upper:18}", lambda v: f"enable secret 9 {v}\n"),
    Structure("jwk", "{url:43}", lambda v: f'{{"kty":"EC","crv":"P-256","d":"{v}","x":"abc"}}\n'),
    Structure(
        "encoded query",
        "{word:32}",
        lambda v: f"next=https%3A%2F%2Fh%2F%3Faccess_token%3D{v}%26x%3D1\n",
    ),
    _build_encoded("basic header", _WORD, "Authorization: Basic ", "\n", "joe:"),
    _build_encoded("npmrc auth", _WORD, "//registry.host/:_auth=", "\n", "joe:"),
    _build_encoded("docker config", _WORD, '{"auths": {"r.host": {"auth": "', '"}}}\n', "joe:"),
    _build_encoded("kubernetes data", _WORD, "apiVersion: v1\nkind: Secret\ndata:\n  db: ", "\n"),
)
