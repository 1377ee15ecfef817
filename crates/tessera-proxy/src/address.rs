//! Addresses to listen on and to connect to, in text form.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

/// An address to listen on: `127.0.0.1:5432`, `[::1]:5432`, `localhost:5432`, `:8443` or `8443` (every address of this
/// machine), `unix:/run/example.sock`, or `systemd:NAME`, an inherited socket by its `FileDescriptorName=`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum ListenAddress {
    /// A port on every address of this machine, IPv6 and IPv4.
    Everywhere(u16),
    /// A TCP address; port 0 picks a free one.
    Tcp(SocketAddr),
    /// A port on all addresses of a name, all of which must belong to this machine.
    Name(HostPort),
    /// A Unix socket, created at this path.
    Unix(PathBuf),
    /// The sockets that the supervisor passed under this name (sd_listen_fds(3)).
    Inherited(String),
}

/// An address to connect to: `db.example:8443`, `192.0.2.1:8443`, `[2001:db8::1]:8443`, or `unix:/run/example.sock`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum DialAddress {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A name and a port; each address of the name is a candidate.
    Name(HostPort),
    /// A Unix socket.
    Unix(PathBuf),
}

/// A DNS name and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// The name, without the final dot.
    pub host: String,
    /// The port, in host order.
    pub port: u16,
}

/// An invalid address. The message lists the accepted forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError(String);

impl ListenAddress {
    /// Returns the port; `None` for Unix and inherited sockets.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Everywhere(port) => Some(*port),
            Self::Tcp(address) => Some(address.port()),
            Self::Name(name) => Some(name.port),
            Self::Unix(_) | Self::Inherited(_) => None,
        }
    }

    /// Returns whether programs on other machines can connect, as far as the address shows.
    ///
    /// The address of an inherited socket stands in the supervisor's configuration alone. It counts as not open: a
    /// warning about it could be wrong, and nothing in our configuration would end it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self {
            Self::Everywhere(_) => true,
            Self::Tcp(address) => !is_loopback(address.ip()),
            Self::Name(name) => !name.is_localhost(),
            Self::Unix(_) | Self::Inherited(_) => false,
        }
    }

    /// Returns whether it is every address of this machine, as far as it shows; see [`is_open`](Self::is_open).
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        match self {
            Self::Everywhere(_) => true,
            Self::Tcp(address) => address.ip().to_canonical().is_unspecified(),
            Self::Name(_) | Self::Unix(_) | Self::Inherited(_) => false,
        }
    }
}

impl DialAddress {
    /// Returns whether it is a loopback address or `localhost`. A Unix socket is neither.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Tcp(address) => is_loopback(address.ip()),
            Self::Name(name) => name.is_localhost(),
            Self::Unix(_) => false,
        }
    }

    /// Returns the host's name or address without the port, such as for verifying a certificate; `None` for Unix
    /// sockets.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        match self {
            Self::Tcp(address) => Some(address.ip().to_string()),
            Self::Name(name) => Some(name.host.clone()),
            Self::Unix(_) => None,
        }
    }

    /// Returns the port; `None` for Unix sockets.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(address) => Some(address.port()),
            Self::Name(name) => Some(name.port),
            Self::Unix(_) => None,
        }
    }
}

impl HostPort {
    fn is_localhost(&self) -> bool {
        self.host == "localhost"
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    // `::ffff:127.0.0.1` is 127.0.0.1.
    ip.to_canonical().is_loopback()
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |what: &str| AddressError(format!("`{text}`: {what}; {LISTEN_FORMS}"));
        if let Some(path) = text.strip_prefix(UNIX) {
            return unix_path(path).map(Self::Unix).map_err(|what| wrong(&what));
        }
        if let Some(name) = text.strip_prefix(SYSTEMD) {
            // sd_listen_fds(3): no control characters, no colon, at most 255 bytes.
            let fits = (1..=255).contains(&name.len())
                && name.chars().all(|c| c.is_ascii() && !c.is_ascii_control() && c != ':');
            return fits
                .then(|| Self::Inherited(name.to_owned()))
                .ok_or_else(|| wrong("not a FileDescriptorName"));
        }
        let digits = text.strip_prefix(':').unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return port(digits).map(Self::Everywhere).map_err(wrong);
        }
        Ok(match host_and_port(text).map_err(wrong)? {
            (Host::Ip(ip), port) => Self::Tcp(SocketAddr::new(ip, port)),
            (Host::Name(host), port) => Self::Name(HostPort { host, port }),
        })
    }
}

impl FromStr for DialAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |what: &str| AddressError(format!("`{text}`: {what}; {DIAL_FORMS}"));
        if let Some(path) = text.strip_prefix(UNIX) {
            return unix_path(path).map(Self::Unix).map_err(|what| wrong(&what));
        }
        let (host, port) = host_and_port(text).map_err(wrong)?;
        if port == 0 {
            return Err(wrong("port 0 can't be connected to"));
        }
        Ok(match host {
            Host::Ip(ip) if ip.is_unspecified() => {
                return Err(wrong("this stands for every address of a machine, and one is needed"));
            }
            Host::Ip(ip) => Self::Tcp(SocketAddr::new(ip, port)),
            Host::Name(host) => Self::Name(HostPort { host, port }),
        })
    }
}

enum Host {
    Ip(IpAddr),
    Name(String),
}

fn host_and_port(text: &str) -> Result<(Host, u16), &'static str> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((Host::Ip(address.ip()), address.port()));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err("the port is missing, and an IPv6 address needs brackets");
    }
    let (host, digits) = text.rsplit_once(':').ok_or("the port is missing")?;
    let port = port(digits)?;
    let name = host.strip_suffix('.').unwrap_or(host);
    if !is_name(name) {
        return Err("the host is neither an address nor a name");
    }
    Ok((Host::Name(name.to_ascii_lowercase()), port))
}

fn port(digits: &str) -> Result<u16, &'static str> {
    // Rust parses `+1` too.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("the port is not a number");
    }
    digits.parse().map_err(|_| "the port is not a number up to 65535")
}

/// Whether it is a host name (RFC 1123 §2.1); underscores, which resolvers accept, are allowed too.
fn is_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    // A last label of digits alone is a mistyped address.
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253
        && name.split('.').all(label)
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

fn unix_path(path: &str) -> Result<PathBuf, String> {
    match path.len() {
        0 => Err("the path is missing".into()),
        _ if path.contains('\0') => Err("the path has a zero byte".into()),
        1..=LONGEST_UNIX_PATH => Ok(PathBuf::from(path)),
        length => Err(format!(
            "the path has {length} bytes, but a Unix socket's has at most {LONGEST_UNIX_PATH}"
        )),
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere(port) => write!(f, ":{port}"),
            Self::Tcp(address) => address.fmt(f),
            Self::Name(name) => name.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
            Self::Inherited(name) => write!(f, "{SYSTEMD}{name}"),
        }
    }
}

impl fmt::Display for DialAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Name(name) => name.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AddressError {}

impl TryFrom<String> for ListenAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl TryFrom<String> for DialAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

const UNIX: &str = "unix:";
const SYSTEMD: &str = "systemd:";

/// `sun_path` of unix(7), without the final zero.
const LONGEST_UNIX_PATH: usize = 107;

const LISTEN_FORMS: &str = "such as 127.0.0.1:5432, [::1]:5432, localhost:5432, :8443 (every address), \
                            unix:/run/example.sock or systemd:NAME";
const DIAL_FORMS: &str =
    "such as db.example:8443, 192.0.2.1:8443, [2001:db8::1]:8443 or unix:/run/example.sock";

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(text: &str) -> Result<ListenAddress, String> {
        text.parse().map_err(|error: AddressError| error.to_string())
    }

    fn dial(text: &str) -> Result<DialAddress, String> {
        text.parse().map_err(|error: AddressError| error.to_string())
    }

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "127.0.0.1:5432",
            "[::1]:1",
            ":8443",
            "localhost:4480",
            "unix:/run/x.sock",
            "systemd:pg",
        ] {
            assert_eq!(listen(text).unwrap().to_string(), text);
        }
        assert_eq!(listen("8443"), Ok(ListenAddress::Everywhere(8443)));
        assert_eq!(listen("127.0.0.1:0"), Ok(ListenAddress::Tcp(([127, 0, 0, 1], 0).into())));
        for text in
            ["db.example:8443", "192.0.2.1:1", "[2001:db8::1]:65535", "unix:x.sock", "a_b:1"]
        {
            assert_eq!(dial(text).unwrap().to_string(), text);
        }
        assert_eq!(dial("DB.example.:1").unwrap().to_string(), "db.example:1");
        assert_eq!(dial("[::1]:1").unwrap().host().unwrap(), "::1");
        assert_eq!(dial("unix:/x").unwrap().host(), None);
        for (text, port) in [("[::1]:2", Some(2)), ("db.example:3", Some(3)), ("unix:/x", None)] {
            assert_eq!(dial(text).unwrap().port(), port);
        }
    }

    #[test]
    fn addresses_that_other_machines_reach_are_open() {
        for (text, is_open, is_everywhere) in [
            ("127.0.0.1:1", false, false),
            ("127.0.0.2:1", false, false),
            ("[::1]:1", false, false),
            ("[::ffff:127.0.0.1]:1", false, false),
            ("localhost:1", false, false),
            ("LOCALHOST.:1", false, false),
            ("unix:/run/x.sock", false, false),
            ("systemd:pg", false, false),
            ("192.0.2.1:1", true, false),
            ("[::ffff:192.0.2.1]:1", true, false),
            ("db.example:1", true, false),
            (":1", true, true),
            ("0.0.0.0:1", true, true),
            ("[::]:1", true, true),
            ("[::ffff:0.0.0.0]:1", true, true),
        ] {
            let address = listen(text).unwrap();
            assert_eq!(
                (address.is_open(), address.is_everywhere()),
                (is_open, is_everywhere),
                "{text}"
            );
        }
        for (text, is_loopback) in [
            ("127.0.0.2:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("localhost:1", true),
            ("192.0.2.1:1", false),
            ("unix:/run/x.sock", false),
        ] {
            assert_eq!(dial(text).unwrap().is_loopback(), is_loopback, "{text}");
        }
    }

    #[test]
    fn the_error_about_a_wrong_address_shows_a_right_one() {
        for (text, what) in [
            ("", "the port is missing"),
            ("127.0.0.1", "the port is missing"),
            ("::1", "brackets"),
            ("localhost:", "the port is not a number"),
            ("localhost:+1", "the port is not a number"),
            ("localhost:65536", "the port is not a number up to 65535"),
            ("70000", "the port is not a number up to 65535"),
            ("300.0.0.1:1", "neither an address nor a name"),
            ("-a.example:1", "neither an address nor a name"),
            ("a..b:1", "neither an address nor a name"),
            ("unix:", "the path is missing"),
            ("systemd:", "FileDescriptorName"),
            ("systemd:a:b", "FileDescriptorName"),
        ] {
            let error = listen(text).unwrap_err();
            assert!(error.contains(what) && error.contains("such as"), "{text}: {error}");
        }
        let long = format!("unix:/{}", "x".repeat(107));
        assert!(listen(&long).unwrap_err().contains("has 108 bytes"));
        for (text, what) in [
            (":8443", "neither an address nor a name"),
            ("8443", "the port is missing"),
            ("db.example:0", "port 0"),
            ("0.0.0.0:1", "every address"),
            ("systemd:pg", "the port is not a number"),
        ] {
            let error = dial(text).unwrap_err();
            assert!(error.contains(what) && error.contains("db.example:8443"), "{text}: {error}");
        }
    }
}
