import string
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kds.brain.secrets.own_rules import OWN_RULES
from kds.brain.secrets.redaction import KINDS, may_hold_secret, redact_secrets, storable
from kds.brain.secrets.secret_library import library_rules
from kds.brain.secrets.secret_rule import SecretRule

from ...effort import bounded

# (message, the part that must not be stored)
LEAKS = [
    # what the library knows
    ("AKIAIOSFODNN7EXAMPLE is the key", "AKIAIOSFODNN7EXAMPLE"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnop"),
    ("glpat-abcdefghij0123456789", "abcdefghij0123456789"),
    ("xoxb-1234567890-abcdefghijklm", "abcdefghijklm"),
    ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sIg-n4_t", "sIg-n4_t"),
    ("SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789abcdefg", "0123456789"),
    ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    ("110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawX bot", "AAHdqTcvCH1vGWJxfSeofSAs0K5"),
    ("https://bob:hunter2@example.com/x", "hunter2"),
    ('api_key = "abc123def456"', "abc123def456"),
    ('{"password": "swordfish", "user": "bob"}', "swordfish"),
    ('password = "one1" and password = "two2" again', "two2"),
    ("it is wJ4lrXUtn7EMIK7MDENGbPx3fiCYzEp9LEKE1y now", "bPx3fiCY"),
    # ours: where else a value stands behind its name
    ("export SECRET_KEY_BASE=mdSGDZjBjLImVpds", "mdSGDZjBjLImVpds"),
    (r"{\"password\": \"azfUDZJANby0JA\"}", "azfUDZJANby0JA"),
    ("<password>5Sz1tN04bygCHr</password>", "5Sz1tN04bygCHr"),
    ("**Password:** tztAMPffvBBa9", "tztAMPffvBBa9"),
    ("| password | 1oAMiYUCwJnH9 |", "1oAMiYUCwJnH9"),
    ("password: &pw 7x6H4gFXN4qoL1", "7x6H4gFXN4qoL1"),
    ("password\uff1a 95pEuBDNLqMq9", "95pEuBDNLqMq9"),
    ("machine github.com login bob password KG4fnRDk9wqeZO", "KG4fnRDk9wqeZO"),
    ("docker login -u bob -p Hp0yhN6IsrnsZe", "Hp0yhN6IsrnsZe"),
    ("['--password', 'W4rctMMs0GDg9']", "W4rctMMs0GDg9"),
    ("ALTER USER bob WITH PASSWORD 'JzYbJFnamUFu9'", "JzYbJFnamUFu9"),
    ("CREATE USER bob IDENTIFIED BY 'NSkz1hgG729m'", "NSkz1hgG729m"),
    ("das Passwort ist Zx9x8VxsLHs", "Zx9x8VxsLHs"),
    ("le mot de passe est Zx9nVyO8gBD", "Zx9nVyO8gBD"),
    ("https://DsldKozkM5JDlvQMIWB0:x-oauth-basic@github.com/a/b.git", "DsldKozkM5JDlvQ"),
    ("https://discord.com/api/webhooks/123456789012345678/jny6c76yMscbToFrayC7F", "jny6c76yM"),
    ("mailgun key-08660414c4d5f181b25e461b85a9eeaa", "08660414c4d5f181"),
    ("bob:$apr1$VjIATxim$iZMQmnEako2glbLWtv4bcP", "iZMQmnEako2glbLWtv4bcP"),
    # ours: what tools and people write down otherwise
    ("curl -b 'PHPSESSID=QpNxHvZyqbJmaKqd' https://app.example.com", "QpNxHvZyqbJmaKqd"),
    ('<add key="ApiSecret" value="ZeUJDgVJhYkMzDcc" />', "ZeUJDgVJhYkMzDcc"),
    ("login with admin / Sommer2024!", "Sommer2024"),
    ("credentials: admin:Winter#99", "Winter#99"),
    ("gmail app password: abcd efgh ijkl mnop", "efgh ijkl"),
    ("openssl rsa -in k.pem -passin pass:PkStjqJZUZ", "PkStjqJZUZ"),
    ('MNEMONIC="' + " ".join(["abandon", "ability", "able"] * 4) + '"', "ability able"),
    ("bearer AAAAAAAAAAAAAAA57RkgYU1%zf%c2CEmnUxac1N21YGB", "c2CEmnUxac1N21YGB"),
    # ours: further vendors
    ("client secret ZgP8Q~7ena8D5VfLDpgyyjV~w5HanSBeVRsfA", "7ena8D5VfLDpgyyjV"),
    ("mailgun e10cd79e048c07dd7753eda83d7c58df-e0d5a0cf-318656b3", "e10cd79e048c07dd"),
    ("NRAK-2KXPOLCQWD9BDQ64DGJUAMT2G4U", "2KXPOLCQWD9B"),
    ("patILo3ojQKDVzk80." + "0cd1c1bac7adac1a" * 4, "0cd1c1bac7adac1a"),
    ("pscale_tkn_AFzVMGui6fzb0IdiawkFawDwHEcdoklzt8QjSOL19HQ", "AFzVMGui6fzb0I"),
    ("dp.pt.d7fqkqfeNdSqiY3UvvGFjmM7JZdWj1SBysTbotZeZEg", "d7fqkqfeNdSqiY3U"),
    ("bkua_7eafdbea13e284142e192ad24c3119432a5d575c", "7eafdbea13e2"),
    ("sonar.login=squ_02216ef29a54358a557f78817592ce63dfa1c7ef", "02216ef29a54"),
    # ours: values without quotes
    ("password: hunter2", "hunter2"),
    ("password: swordfish", "swordfish"),
    # ours: values with a word of secrets in them, which names in code have too
    ("password: hunter2supersecret now", "hunter2supersecret"),
    ("password=MySecret2024 here", "MySecret2024"),
    ("my password is secret123", "secret123"),
    ("password=foo.bar", "foo.bar"),
    ("DB_PASSWORD=swordfish", "swordfish"),
    ("export API_KEY=abc123def456", "abc123def456"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI"),
    ("token: 8f14e45fceea167a5a36dedd4bea2543", "8f14e45fceea"),
    ("Server=db;User Id=sa;Password=Pa55;Database=x", "Pa55"),
    ("AccountKey=abc/def+ghi==;EndpointSuffix=core", "abc/def"),
    ("user: bob password: swordfish and then run", "swordfish"),
    ("passphrase: correcthorse", "correcthorse"),
    ("password: it's2fun", "s2fun"),
    ("(password: hunter2), then run the tests", "hunter2"),
    # ours: prose
    ("the password is hunter2", "hunter2"),
    ("The password for the admin user is hunter2!", "hunter2"),
    ("set the password to Tr0ub4dor&3 please", "&3"),
    ("password is 'swordfish'", "swordfish"),
    ("use password hunter2 to log in", "hunter2"),
    ("my password is s3cret.", "s3cret"),
    ("my pin is 4312", "4312"),
    ("username admin password hunter2", "hunter2"),
    ("ssh root@10.0.0.1 with pw Sup3rS3cret", "Sup3rS3cret"),
    ("the credentials are admin / hunter2", "hunter2"),
    ("the api key was a1b2c3d4e5", "a1b2c3d4e5"),
    # ours: headers, flags, addresses
    ("Authorization: Bearer abcdef123456ghijkl", "abcdef123456ghijkl"),
    ('curl -H "Authorization: Token abcdefghij" x', "abcdefghij"),
    ("Bearer abc.def-123456", "def-123456"),
    ("Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    ("X-API-Key: a1b2c3d4", "a1b2c3d4"),
    ("Cookie: session=abc; theme=dark", "session=abc"),
    ("deploy --password hunter2", "hunter2"),
    ("curl -u admin:s3cret https://example.com", "s3cret"),
    ("mysql -u root -phunter22 db", "hunter22"),
    ("postgres://app:p@ss$word@db.internal:5432/app", "ss$word"),
    ("redis://:supersecret@localhost:6379/0", "supersecret"),
    ("https://x.com/cb?access_token=abc123456&x=1", "abc123456"),
    # ours: providers
    ("my key is sk-proj-abcdefghijklmnop1234", "abcdefghijklmnop1234"),
    ("sk-ant-api03-AAAAbbbb1111-xyz_99", "AAAAbbbb1111"),
    ("github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz", "klmnopqrstuvwxyz"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "1234567890abcdef"),
    ("sk_test_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    ("hf_abcdefghijklmnopqrstuvwxyzABCDEF", "abcdefghijklmnop"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnop"),
    # keys over several lines
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nxyz=\n-----END RSA PRIVATE KEY-----", "xyz="),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\nQyNTUx", "QyNTUx"),
    ("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEabc\nxyz=\nhelp", "xyz="),
    ('"key": "-----BEGIN PRIVATE KEY-----\\nMIIEabc\\n-----END PRIVATE KEY-----\\n"', "MIIEabc"),
    ("> -----BEGIN PRIVATE KEY-----\n> MIIEabc\n> xyz=\nwhy?", "xyz="),
    ("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\nAAAAB3\nPrivate-MAC: ab12", "AAAAB3"),
]

HARMLESS = [
    "password = oauth2_token, and token: auth0Token",
    "password: userToken2 or password: sha256_password",
    "I want to add a FAB button",
    "Add a password field to the login form",
    "The password is wrong",
    "password is required and must be at least 8 characters",
    "Rename getPasswordHash to computePasswordHash",
    "password: required",
    "the token is valid for 3600 seconds",
    "set max_tokens=4096",
    "Revert commit 8f14e45fceea167a5a36dedd4bea2543abcdef01",
    "the build is sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "src/components/FloatingActionButton.tsx",
    "the password is hashed with sha256",
    "Use argon2id for the password, not bcrypt",
    "token = getToken(user)",
    'password = request.form["password"]',
    "const token = process.env.API_TOKEN",
    "login(user=user, password=password)",
    "Add a --password flag",
    "add a token bucket rate limiter",
    "Why is the secret rotation job failing in secrets.py?",
    "Authorization: required",
    "authorization: add role checks to the endpoints",
    "use bearer authentication",
    "basic authentication for the admin page",
    "uuid 550e8400-e29b-41d4-a716-446655440000",
    "Make the primary key an integer",
    'Add a "Forgot password?" link: it goes to /reset',
    "rename password to userPassword",
    "Rename the token to `accessId`",
    "look at https://github.com/owner/repo/pull/123",
    "open http://localhost:8080/users/@me",
    "tests pass: 12 of 13",
    "set API_KEY=$API_KEY in the Makefile",
    "password=<your password>",
    "feature/ABC-1234-Add-Login-Form-V2-for-Mobile-Users",
    "HandlesOAuth2TokenRefreshWithSha256AndRetryV3Later",
    "/home/Runner1/repos/MyProject2/src/Components3/Buttons4",
    "Add keyboard shortcuts: press k to open, Esc to close",
    "task-runner asks risk-free-questions-in-2-steps",
    "fix the tokenizer=bert-base-uncased option",
    "password_min_length = 12",
    "Let's use JWT tokens: access and refresh",
    "put the api key in config.yaml",
    "Change the password input type to text",
    "import { useAuth } from './hooks/useAuth2'",
    "cookie: make it essential",
    "password123 should be rejected by the validator",
    "the pass rate is 98.5%",
    "key: value pairs should be sorted",
    "in the pin input, allow 4 digits",
    "basic layout2 with a sidebar",
    "the token is stored in 2 places: cookie and header",
    "API key is missing in .env.local",
    "bump lodash@4.17.21: security fix for the token leak",
    "git@github.com:owner/repo.git has token scopes",
    '<input type="password" name="pw" id="password1" value="">',
    "Token: string | null",
    "login: make the button2 wider",
    "the server at 93.184.216.34:8080 is down",
    "SHA256:S+yU93CvHFwivTi/Q7PpwRAONpq9CBJsz0AzEOXI0YI is the host's fingerprint",
    "Stripe(pk_test_TYooMQauvdEDq54NiTphI7jx)",
    "credentials: 'same-origin'",
    "credentials: https://vault.example.com/v1/db2",
    "login with google / github",
    "the seed phrase is shown twice on this page and nobody can read it there",
    "curl -b cookies.txt https://app.example.com",
    "page-0f8fad5b-d9cb-469f-a165-70867728950e.css",
]


@pytest.mark.parametrize(("message", "secret"), LEAKS)
def test_a_secret_is_not_stored(message: str, secret: str) -> None:
    stored = storable(message)
    assert secret not in stored
    assert "[secret: " in stored
    assert storable(stored) == stored


@pytest.mark.parametrize("message", HARMLESS)
def test_what_is_no_secret_stays(message: str) -> None:
    assert storable(message) == message


def test_only_the_value_is_replaced() -> None:
    assert (
        storable("log in as bob, password: hunter2, then run")
        == "log in as bob, password: [secret: password], then run"
    )


def test_prose_behind_a_private_key_stays() -> None:
    text = "use\n-----BEGIN PRIVATE KEY-----\nMIIEabc\n-----END PRIVATE KEY-----\nfor signing"
    assert storable(text) == "use\n[secret: private key]\nfor signing"


def test_code_with_a_secret_in_it_is_only_a_mark() -> None:
    assert storable("why?\n```py\npassword = 'hunter2'\n```") == "why?\n[code: py, 1 line]"


def test_a_false_mark_hides_nothing() -> None:
    assert "hunter2" not in storable("[secret: password: hunter2]")
    assert "AKIAIOSFODNN7EXAMPLE" not in storable("[secret: AKIAIOSFODNN7EXAMPLE]")


def test_lone_surrogates_do_not_reach_the_disk() -> None:
    storable("caf\udce9").encode()


def test_the_list_of_kinds_is_complete() -> None:
    assert {rule.kind for rule in (*OWN_RULES, *library_rules())} <= KINDS


def test_an_ordinary_message_does_not_even_load_the_library() -> None:
    assert not may_hold_secret("Please make the primary button a little darker than before.")


@pytest.mark.parametrize("rule", [*OWN_RULES, *library_rules()], ids=lambda rule: rule.kind)
def test_whatever_a_rule_finds_passes_the_cheap_checks(rule: SecretRule) -> None:
    """The proof that looking less costs nothing: strings drawn from the pattern itself."""

    @settings(max_examples=6, database=None)
    @given(st.from_regex(rule.pattern))
    def check(text: str) -> None:
        for found in rule.pattern.finditer(text):
            if rule.accept(found[rule.group]):
                assert may_hold_secret(text)
                folded = text.casefold()
                assert not rule.needles or any(needle in folded for needle in rule.needles)

    check()


WORDS = st.lists(
    st.sampled_from(
        [
            "make",
            "the",
            "button",
            "purple",
            "for",
            "login",
            "add",
            "a",
            "key",
            "to",
            "config",
            "and",
            "run",
            "it",
        ]
    )
).map(" ".join)
ALNUM = string.ascii_letters + string.digits
STRONG = st.text(ALNUM, min_size=8, max_size=40).filter(
    lambda text: any(map(str.isdigit, text)) and any(map(str.isalpha, text))
)
PLANTED = st.one_of(
    st.text(ALNUM, min_size=36, max_size=36).map(lambda body: ("{}", f"ghp_{body}")),
    st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16).map(
        lambda body: ("{}", f"AKIA{body}")
    ),
    st.text(ALNUM + "_-", min_size=35, max_size=35).map(lambda body: ("{}", f"AIza{body}")),
    st.tuples(
        st.sampled_from(
            [
                'password = "{}"',
                "PASSWORD={}",
                "Authorization: Bearer {}",
                "postgres://app:{}@db/x",
                '"client_secret": "{}",',
                "--token={}",
                "https://x.y/z?api_key={}&a=b",
            ]
        ),
        STRONG.map(lambda text: f"q7{text}"),
    ),
)


@given(WORDS, PLANTED, WORDS)
def test_a_planted_secret_never_comes_through(
    before: str, planted: tuple[str, str], after: str
) -> None:
    template, secret = planted
    stored = storable(f"{before} {template.format(secret)} {after}")
    assert secret not in stored
    assert storable(stored) == stored


@settings(max_examples=10)
@given(st.integers(0, 50_000), PLANTED)
def test_a_secret_anywhere_in_one_very_long_line_is_found(
    at: int, planted: tuple[str, str]
) -> None:
    template, secret = planted
    filler = "make it purple, " * 3125
    stored = storable(f"{filler[:at]} {template.format(secret)} {filler[at:]}")
    assert secret not in stored


@pytest.mark.parametrize("begins", ["ghp_", "AKIA", "eyJaaaaaaaa."])
def test_a_long_run_of_what_begins_like_secrets_is_read_to_its_end_once(begins: str) -> None:
    with bounded("the redaction", cpu_s=20):
        stored = storable(begins * (800_000 // len(begins)))
    assert len(stored) < 100


@given(
    st.one_of(
        st.text(),
        st.text(alphabet=st.characters(codec=None)),
        st.lists(
            st.sampled_from(
                ["password", "token", "=", ": ", '"', "'", "`", "```", "\n", "hunter2", "is", " ",
                 "[secret: password]", "[secret: ", "]", "AKIAIOSFODNN7EXAMPLE", "://", "@", ":",
                 "-----BEGIN PRIVATE KEY-----", "MIIEabc", "x = 1;", "eyJhbGciOiJI", ".", "key"]
            )
        ).map("".join),
    )
)  # fmt: skip
@example('password = "[secret: password]"')
def test_redacting_again_changes_nothing(text: str) -> None:
    once = storable(text)
    assert storable(once) == once


@given(st.text(alphabet=string.ascii_letters + " ,.\n"))
def test_plain_words_are_never_touched(text: str) -> None:
    assert redact_secrets(text) == text


@pytest.mark.parametrize(
    "path", sorted(p for p in Path(__file__).parents[2].glob("../shared/data/dialogues/*.json"))
)
def test_the_development_dialogues_hold_no_secret(path: Path) -> None:
    text = path.read_text()
    assert redact_secrets(text) == text
