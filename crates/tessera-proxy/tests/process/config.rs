//! Valid configurations, and every way to be invalid.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tessera_kit::ProgramError;
use tessera_proxy::config::{self, ByteLength, Document, FilePath, Seconds};
use tessera_proxy::confine::Confinement;

use crate::child;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Configuration {
    #[serde(default)]
    process: Process,
    #[serde(default)]
    server: BTreeMap<String, Server>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Process {
    admin: Option<String>,
    drain: Option<Seconds>,
    workers: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Server {
    listen: String,
    certificate: Option<FilePath>,
    early: Option<Early>,
    spare: Option<u16>,
    handshakes: Option<NonZeroU32>,
    #[serde(default)]
    names: Vec<String>,
    longest: Option<ByteLength>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    backends: Vec<Backend>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Early {
    Fs,
    Never,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Limits {
    tcp_fast_open: Option<bool>,
    idle: Option<Seconds>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Backend {
    address: String,
}

/// Returns the error about a text from `a.toml`.
fn said(text: &str) -> String {
    let document = Document::from_text(Path::new("a.toml"), text.to_owned());
    let error = document.parse::<Configuration>().expect_err(text);
    assert_eq!(error.exit_code(), 2, "{error}");
    error.to_string()
}

fn read(text: &str) -> Configuration {
    Document::from_text(Path::new("dir/a.toml"), text.to_owned()).parse().unwrap()
}

/// Creates a file of this name and content, in a directory for these tests.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("config");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    fs::write(&path, content).unwrap();
    path
}

fn load_error<T: DeserializeOwned + std::fmt::Debug>(path: &Path) -> String {
    let error: ProgramError = config::load::<T>(path).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    let text = error.to_string();
    text.strip_prefix(&*path.to_string_lossy()).expect("it names the file").to_owned()
}

#[test]
fn a_configuration_is_read_with_times_numbers_and_paths() {
    let text = r#"
        [process]
        admin = "127.0.0.1:9464"
        drain = "1.5s"
        workers = 4
        [server.postgres]
        listen = ":8443"
        certificate = "server.pem"
        early = "never"
        limits = { idle = "12h" }
        [server."a b"]
        listen = "unix:/run/x.sock"
        certificate = "/etc/server.pem"
        names = ["a"]
        longest = "64 KiB"
        limits.idle = 90
        [[server."a b".backends]]
        address = "one"
    "#;
    let configuration = read(text);
    assert_eq!(configuration.process.admin.as_deref(), Some("127.0.0.1:9464"));
    assert_eq!(configuration.process.drain, Some(Seconds(Duration::from_millis(1500))));
    assert_eq!(configuration.process.workers, Some(4));
    let postgres = &configuration.server["postgres"];
    assert_eq!((postgres.listen.as_str(), &postgres.early), (":8443", &Some(Early::Never)));
    assert_eq!(postgres.certificate.as_deref(), Some(Path::new("dir/server.pem")));
    assert_eq!(postgres.limits.idle, Some(Seconds(Duration::from_secs(12 * 3600))));
    let other = &configuration.server["a b"];
    assert_eq!(other.certificate.as_deref(), Some(Path::new("/etc/server.pem")));
    assert_eq!(other.limits.idle, Some(Seconds(Duration::from_secs(90))));
    assert_eq!(other.backends[0].address, "one");
    assert_eq!((other.spare, other.handshakes, other.limits.tcp_fast_open), (None, None, None));
    assert_eq!((&*other.names, other.longest), (&["a".to_owned()][..], Some(ByteLength(65_536))));
}

#[test]
fn relative_paths_start_at_the_directory_of_the_file() {
    let path = file("paths.toml", b"server.a = { listen = 'x', certificate = '../server.pem' }");
    let configuration: Configuration = config::load(&path).unwrap();
    let expected = path.parent().unwrap().join("../server.pem");
    assert_eq!(configuration.server["a"].certificate.as_deref(), Some(expected.as_path()));
    // Outside a file, paths are kept as they are, also after a file with errors.
    assert!(Document::from_text(&path, "x = 1".into()).parse::<Configuration>().is_err());
    let alone: BTreeMap<String, FilePath> = toml::from_str("file = 'server.pem'").unwrap();
    assert_eq!(alone["file"].as_path(), Path::new("server.pem"));
}

#[test]
fn an_unknown_key_is_reported_with_its_line_and_the_nearest_known_one() {
    for (text, expected) in [
        ("sever.a = {}", "a.toml:1: there is no section [sever]; did you mean `server`?"),
        // A key is missing in a section whose name sorts first.
        (
            "[sever.pg]\nlisten = ':1'\n[server.pg.limits]\nidle = 1",
            "a.toml:1: there is no section [sever]; did you mean `server`?",
        ),
        (
            "[server.pg]\n[other]\nx = 1",
            "a.toml:2: there is no section [other]; the sections are `process`, `server`",
        ),
        (
            "\n[process]\n\nadmn = 'x'",
            "a.toml:4: [process] has no key `admn`; did you mean `admin`?",
        ),
        (
            "[server.pg]\nlisten = ':1'\ncertificat = 'x'\n",
            "a.toml:3: [server.pg] has no key `certificat`; did you mean `certificate`?",
        ),
        // A map of named tables, with a name that needs quotes; a nested table.
        (
            "[server.'a b']\nlisten = ':1'\n[server.'a b'.limits]\ntcpFastOpen = true",
            r#"a.toml:4: [server."a b".limits] has no key `tcpFastOpen`; did you mean `tcp-fast-open`?"#,
        ),
        (
            "[server.a]\nlisten = ':1'\nlimits = { idel = 1 }",
            "a.toml:3: [server.a.limits] has no key `idel`; did you mean `idle`?",
        ),
        (
            "server.a.listen = ':1'\nserver.a.limits.idel = 1",
            "a.toml:2: [server.a.limits] has no key `idel`; did you mean `idle`?",
        ),
        (
            "[server.a]\nlisten = ':1'\n[[server.a.backends]]\naddress = 'x'\n[[server.a.backends]]\nadress = 'x'",
            "a.toml:6: [server.a.backends] has no key `adress`; did you mean `address`?",
        ),
        // No known key is similar: all are listed.
        (
            "[process]\nbuffer = 4",
            "a.toml:2: [process] has no key `buffer`; its keys are `admin`, `drain`, `workers`",
        ),
        // A name that imitates something else.
        (
            "\"x`, expected `admin\\u001b[2J\\nb\" = 4",
            r"a.toml:1: there is no key `x`, expected `admin\u{1b}[2J\nb`; its keys are `process`, `server`",
        ),
    ] {
        assert_eq!(said(text), expected);
    }
}

#[test]
fn a_wrong_value_is_reported_with_its_key_its_line_and_the_accepted_values() {
    for (text, expected) in [
        (
            "[server.a]\nlisten = ':1'\nearly = 'fss'",
            "a.toml:3: [server.a] early: `fss` is not valid; did you mean `fs`?",
        ),
        (
            "[server.a]\nlisten = ':1'\nearly = 'always'",
            "a.toml:3: [server.a] early: `always` is not valid; use one of `fs`, `never`",
        ),
        (
            "[server.a]\nlisten = 8443",
            "a.toml:2: [server.a] listen: it must be text; put it in quotes: \"8443\"",
        ),
        (
            "[server.a]\nlisten = ':1'\nspare = 70000",
            "a.toml:3: [server.a] spare: it must be a whole number from 0 to 65535, not `70000`",
        ),
        (
            "[server.a]\nlisten = ':1'\nhandshakes = 0",
            "a.toml:3: [server.a] handshakes: it must be a whole number from 1 to 4294967295, not `0`",
        ),
        ("process = 3", "a.toml:1: process: it must be a table, not `3`"),
        (
            "[process]\ndrain = '30 seconds'",
            "a.toml:2: [process] drain: \"30 seconds\" is not a time; write seconds, or a number with a unit: \"500ms\", \"10s\", \"5m\", \"12h\", \"7d\"",
        ),
        (
            "[server.a]\nlisten = ':1'\nnames = 'app.example'",
            "a.toml:3: [server.a] names: it must be a list; write [\"app.example\"]",
        ),
        (
            "[server.a]\nlisten = ':1'\nnames = { a = 1 }",
            "a.toml:3: [server.a] names: it must be a list, not a table",
        ),
        (
            "[server.a]\nlisten = ':1'\nlongest = '2 parsecs'",
            "a.toml:3: [server.a] longest: \"2 parsecs\" is not a length; write bytes, or a number with a unit: \
             \"512 B\", \"64 KiB\", \"16 MiB\", \"1 MB\"",
        ),
        ("[server.a]", "a.toml:1: the key `listen` is missing from [server.a]"),
        (
            "\n\n[process]\n[server.'a.b']",
            "a.toml:4: the key `listen` is missing from [server.\"a.b\"]",
        ),
        (
            "[server.a]\nlisten = ':1'\n[[server.a.backends]]\naddress = true",
            "a.toml:4: [server.a.backends] address: it must be text in quotes, not `true`",
        ),
    ] {
        assert_eq!(said(text), expected);
    }
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    for (text, expected) in [
        (
            "[process]\nadmin = 'a'\nadmin = 'b'",
            "a.toml:3: `admin` occurs twice; remove one of them",
        ),
        (
            "[process]\n[server.a]\nlisten = ':1'\n[process]\n",
            "a.toml:4: `process` occurs twice; remove one of them",
        ),
        ("[process\nadmin = 'a'", "a.toml:1: "),
        ("[process]\nadmin = 'a", "a.toml:2: "),
        ("[process]\nadmin 'a'", "a.toml:2: "),
    ] {
        let said = said(text);
        assert!(said.starts_with(expected) && said.lines().count() == 1, "{said}");
    }
    for value in ["127.0.0.1", "127.0.0.1:5432", ":5432", "/etc/x.pem", "10s", "truee", ""] {
        let expected = "a.toml:2: [server.a] listen: this is neither a number nor true or false; put text in quotes";
        assert_eq!(said(&format!("[server.a]\nlisten = {value}")), expected, "{value}");
    }
}

#[test]
fn an_empty_file_is_no_configuration() {
    for (name, content) in [("empty.toml", ""), ("comment.toml", "# later\n\n")] {
        let path = file(name, content.as_bytes());
        assert_eq!(load_error::<Configuration>(&path), ": there is no key in this file");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let path = file("there.toml", b"x = 1");
    let directory = path.parent().unwrap();
    let expected = ": this is a directory; name a TOML file";
    assert_eq!(load_error::<Configuration>(directory), expected);
    let missing = directory.join("missing.toml");
    assert_eq!(load_error::<Configuration>(&missing), ": there is no such file");
    let below = path.join("below.toml");
    assert!(load_error::<Configuration>(&below).contains("Not a directory"));
    // Reading a process's memory at 0 fails even for root, who bypasses permissions.
    let unreadable = Path::new("/proc/self/mem");
    assert!(load_error::<Configuration>(unreadable).contains("error"));
    let long = file("long.toml", &vec![b'\n'; 16 * 1024 * 1024 + 1]);
    let why = load_error::<Configuration>(&long);
    assert_eq!(why, ": too long: at most 16777216 bytes are allowed");
    fs::remove_file(long).unwrap();
    let why = ": this is a pipe, a device or a socket, and a regular file is needed";
    assert_eq!(load_error::<Configuration>(Path::new("/dev/zero")), why);
}

#[test]
fn an_unreadable_file_is_reported_as_such() {
    child::run("config::child_may_not_read", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_may_not_read() {
    let path = file("secret.toml", b"x = 1");
    // Permissions don't stop root.
    let enforced = Confinement::default().enforce().unwrap();
    if !enforced.files {
        println!("skipped: {enforced}");
        return;
    }
    assert!(load_error::<Configuration>(&path).starts_with(": permission denied; run as a user"));
}

#[test]
fn invalid_utf_8_is_reported_with_its_line() {
    let path = file("latin1.toml", b"# a\n[process]\nadmin = 'M\xfcller'\n");
    assert!(load_error::<Configuration>(&path).starts_with(":3: this is not UTF-8"));
    let utf_16: Vec<u8> = "[process]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let path = file("utf16.toml", &[&[0xff, 0xfe], &utf_16[..]].concat());
    assert!(load_error::<Configuration>(&path).starts_with(":1: this is not UTF-8"));
    // A byte order mark is valid.
    let path = file("bom.toml", "\u{feff}[process]\nadmin = 'a'".as_bytes());
    let configuration: Configuration = config::load(&path).unwrap();
    assert_eq!(configuration.process.admin.as_deref(), Some("a"));
}

#[test]
fn a_key_in_place_of_its_file_is_not_repeated() {
    for content in ["-----BEGIN PRIVATE KEY-----MC4CAQ", "a\nMC4CAQ", ""] {
        let said = said(&format!("server.a = {{ listen = 'x', certificate = {content:?} }}"));
        let expected =
            "a.toml:1: [server.a] certificate: it must be the path of a file, not its content";
        assert_eq!(said, expected);
    }
}

#[test]
fn a_key_in_any_other_place_is_not_repeated_either() {
    for text in [
        "process = '-----BEGIN PRIVATE KEY-----MC4CAQ'",
        "process.drain = '-----BEGIN PRIVATE KEY-----MC4CAQ'",
        "server.a = { listen = 'x', early = '-----BEGIN PRIVATE KEY-----MC4CAQ' }",
    ] {
        let said = said(text);
        assert!(!said.contains("MC4") && said.ends_with("write the path of its file"), "{said}");
    }
}

#[test]
fn owners_errors_have_the_line_of_the_key_or_of_its_table() {
    let text = "[process]\n[server.a]\nlisten = 'x'\nlimits.idle = 1\n".to_owned();
    let document = Document::from_text(Path::new("a.toml"), text);
    let error = |key: &[&str]| document.error(key, "no").to_string();
    assert_eq!(error(&["server", "a", "listen"]), "a.toml:3: [server.a] listen: no");
    assert_eq!(error(&["server", "a", "limits", "idle"]), "a.toml:4: [server.a.limits] idle: no");
    assert_eq!(error(&["server", "a", "key"]), "a.toml:2: [server.a] key: no");
    assert_eq!(error(&["client", "b c", "key"]), r#"a.toml: [client."b c"] key: no"#);
    assert_eq!(error(&["process"]), "a.toml:1: process: no");
}

#[test]
fn times_are_exact_or_refused() {
    let time = |text: &str| text.parse::<Seconds>().ok().map(Seconds::duration);
    for (text, nanos) in [
        ("0", 0),
        ("10", 10_000_000_000),
        ("10s", 10_000_000_000),
        ("0.25s", 250_000_000),
        ("500ms", 500_000_000),
        ("33us", 33_000),
        ("5m", 300_000_000_000),
        ("5 min", 300_000_000_000),
        ("12h", 43_200_000_000_000),
        ("7d", 604_800_000_000_000),
    ] {
        assert_eq!(time(text), Some(Duration::from_nanos(nanos)), "{text}");
    }
    for wrong in
        ["", "s", "-1s", "1e3s", "1.s", ".5s", "nan", "1.2.3s", "5 weeks", "1h30m", "999999999999d"]
    {
        assert_eq!(time(wrong), None, "{wrong}");
    }
    let of_float: BTreeMap<String, Seconds> = toml::from_str("a = 1.5").unwrap();
    assert_eq!(of_float["a"].duration(), Duration::from_millis(1500));
    for wrong in ["a = -1", "a = nan", "a = inf", "a = -0.5", "a = true", "a = 9223372036854775807"]
    {
        assert!(toml::from_str::<BTreeMap<String, Seconds>>(wrong).is_err(), "{wrong}");
    }
}
