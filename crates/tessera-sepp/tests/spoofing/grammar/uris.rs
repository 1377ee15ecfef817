//! URIs that lead where a peer may not send a function, in all spellings that some reader understands.

use super::random::Random;

/// A name of the peer's, which is allowed.
pub const PEER: &str = "smf.5gc.mnc001.mcc001.3gppnetwork.org";

/// A name of the receiver's.
pub const OWN: &str = "nrf.5gc.mnc070.mcc999.3gppnetwork.org";

/// Hosts that aren't the peer's: addresses, internal names, local functions, a third network's.
const HOSTS: [&str; 8] = [
    "10.0.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "localhost",
    "udr.internal",
    OWN,
    "smf.5gc.mnc093.mcc208.3gppnetwork.org",
    "[fd00::1]",
];

/// `{}` is the host, `@` only the peer's name.
const SPELLINGS: [(&str, &str); 47] = [
    ("plain", "http://{}:8080/x"),
    ("https", "https://{}/x"),
    ("capitals", "HTTP://{}/x"),
    ("the peer as user, with an encoded slash", "http://@peer%2Fx@{}/x"),
    ("no path", "http://{}"),
    ("one slash", "http:/{}/x"),
    ("no slash", "http:{}/x"),
    ("three slashes", "http:///{}/x"),
    ("four slashes", "https:////{}/x"),
    ("backslashes", "http:\\\\{}/x"),
    ("one backslash", "http:\\{}/x"),
    ("slash and backslash", "http:/\\{}/x"),
    ("no scheme", "//{}/x"),
    ("no scheme, backslashes", "\\\\{}\\x"),
    ("no scheme, mixed slashes", "/\\{}/x"),
    ("host and port alone", "{}:8080/x"),
    ("host alone", "{}/x"),
    ("space in front", " http://{}/x"),
    ("spaces in front, no slashes", "  http:{}/x"),
    ("control in front", "\u{1}http://{}/x"),
    ("tab in the scheme", "ht\ttp://{}/x"),
    ("line feed in the scheme", "http\n://{}/x"),
    ("tab in front of the host", "http://\t{}/x"),
    ("line feed between slashes", "http:/\n/{}/x"),
    ("user", "http://user@{}/x"),
    ("user and password", "http://user:password@{}/x"),
    ("the peer as user", "http://@peer@{}/x"),
    ("the peer as user with a port", "http://@peer:80@{}:80/x"),
    ("the peer as user twice", "http://@peer@@peer@{}/x"),
    ("the peer as user, backslash", "http://{}\\@@peer/x"),
    ("the peer as fragment", "http://{}#@@peer/x"),
    ("the peer as query", "http://{}?@@peer/x"),
    ("the peer as path", "http://{}/@@peer/x"),
    ("the peer and a comma", "http://@peer,@{}/x"),
    ("empty user", "http://@{}/x"),
    ("port with a zero", "http://{}:080/x"),
    ("empty port", "http://{}:/x"),
    ("dot at the end", "http://{}./x"),
    ("ftp", "ftp://{}/x"),
    ("gopher", "gopher://{}:6379/_INFO"),
    ("dict", "dict://{}:11211/stat"),
    ("ldap", "ldap://{}/x"),
    ("websocket", "ws://{}/x"),
    ("custom scheme", "http+x://{}/x"),
    ("dots in the path", "http://{}/a/../b"),
    ("NUL behind", "http://{}/\u{0}"),
    ("bad escape", "http://{}/%zz"),
];

/// Other spellings of an IPv4 address.
const NUMBERS: [(&str, &str, &str); 12] = [
    ("hexadecimal", "0x0a.0.0.1", "10.0.0.1"),
    ("octal", "012.0.0.1", "10.0.0.1"),
    ("one number", "167772161", "10.0.0.1"),
    ("one hexadecimal number", "0xa000001", "10.0.0.1"),
    ("two numbers", "10.1", "10.0.0.1"),
    ("three numbers", "127.0.1", "127.0.0.1"),
    ("octal and hexadecimal", "0177.0x0.0.1", "127.0.0.1"),
    ("circled digits", "\u{2460}\u{24ea}.0.0.1", "10.0.0.1"),
    ("ideographic full stops", "10\u{3002}0\u{3002}0\u{3002}1", "10.0.0.1"),
    ("encoded digits", "%31%30.0.0.1", "10.0.0.1"),
    ("fullwidth digits", "\u{ff11}\u{ff10}.0.0.1", "10.0.0.1"),
    ("zeros in front", "010.000.000.001", "8.0.0.1"),
];

/// Places without a host.
const PLACES: [(&str, &str); 4] = [
    ("unix:/run/docker.sock", "unix:"),
    ("file:///etc/passwd", "file:"),
    ("http+unix://%2Frun%2Fx.sock/x", "http%2bunix:"),
    ("jar:http://10.0.0.1!/x", "jar:"),
];

/// Returns an absolute URI, as in text that some readers search for URIs.
pub fn absolute(random: &mut Random) -> (String, String, Vec<String>) {
    if random.is_honest {
        return honest();
    }
    let host = *random.pick(&HOSTS);
    let (what, spelling) = SPELLINGS[random.below(3)];
    (what.into(), spelling.replace("{}", host), vec![host.trim_matches(['[', ']']).into()])
}

fn honest() -> (String, String, Vec<String>) {
    ("nothing hostile".into(), format!("http://{PEER}:8080/x"), Vec::new())
}

/// Returns what it is, the URI, and the host as receivers write it.
pub fn hostile(random: &mut Random) -> (String, String, Vec<String>) {
    if random.is_honest {
        return honest();
    }
    if random.one_in(12) {
        let (uri, scheme) = random.pick(&PLACES);
        return ("no host".into(), (*uri).into(), vec![(*scheme).into()]);
    }
    if random.one_in(5) {
        let (what, spelled, host) = random.pick(&NUMBERS);
        return ((*what).into(), format!("http://{spelled}:8080/x"), vec![(*host).into()]);
    }
    let host = *random.pick(&HOSTS);
    let (what, spelling) = *random.pick(&SPELLINGS);
    let uri = spelling.replace("@peer", PEER).replace("{}", host);
    let host = host.trim_matches(['[', ']']);
    (what.into(), uri, vec![host.into(), format!("{host}.")])
}
