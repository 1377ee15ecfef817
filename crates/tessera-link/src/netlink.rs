//! Changes to the interfaces of the calling thread's namespace.
//!
//! These are messages on a routing socket (RFC 3549), the one kernel interface for them that needs no unsafe call.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use std::{fs, thread};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_NEWROUTE: u16 = 24;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;

/// Enables the loopback interface: in a new namespace it is disabled, so that even an endpoint that only connects to
/// itself fails.
pub(crate) fn raise_loopback() -> io::Result<()> {
    const IFF_UP: u32 = 1;
    // The kernel makes this interface first in every namespace.
    const LOOPBACK_INDEX: u32 = 1;
    // Family (2 bytes with padding), type, index, flags, mask of flags to change.
    let mut body = vec![0; 4];
    for word in [LOOPBACK_INDEX, IFF_UP, IFF_UP] {
        body.extend(word.to_ne_bytes());
    }
    request(RTM_NEWLINK, 0, &body)
}

/// Gives an interface an address of its own, and a route to the network with this prefix; neither depends on other
/// addresses of the interface.
pub(crate) fn add_address(interface: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const TABLE_MAIN: u8 = 254;
    const PROTOCOL_STATIC: u8 = 4;
    const SCOPE_LINK: u8 = 253;
    const UNICAST: u8 = 1;
    request(RTM_NEWADDR, NLM_F_CREATE, &address_body(interface, address))?;
    if let IpAddr::V6(ipv6) = address {
        await_local_route(ipv6)?;
    }
    // Family, lengths of the prefixes, type of service, then these, then flags.
    let mut body =
        vec![family(address), prefix, 0, 0, TABLE_MAIN, PROTOCOL_STATIC, SCOPE_LINK, UNICAST];
    body.extend([0; 4]);
    attribute(&mut body, RTA_DST, &network(address, prefix));
    attribute(&mut body, RTA_OIF, &interface.to_ne_bytes());
    match request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Waits until the kernel takes packets to a new address of IPv6, which it prepares after the answer.
fn await_local_route(address: Ipv6Addr) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    const RTF_LOCAL: u32 = 0x8000_0000;
    // Destination and length of the prefix, 128; the ninth of ten columns has the flags.
    let start = format!("{:032x} 80 ", u128::from(address));
    let is_local = |line: &str| {
        let flags =
            line.split_whitespace().nth(8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        line.starts_with(&start) && flags.is_some_and(|flags| flags & RTF_LOCAL != 0)
    };
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if fs::read_to_string("/proc/thread-self/net/ipv6_route")?.lines().any(is_local) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(ErrorKind::TimedOut.into())
}

/// Takes an address from an interface.
pub(crate) fn remove_address(interface: u32, address: IpAddr) -> io::Result<()> {
    request(RTM_DELADDR, 0, &address_body(interface, address))
}

/// Whether an address of IPv6 was refused since the namespace has no IPv6.
pub(crate) fn lacks_ipv6(error: &io::Error) -> bool {
    let absent = [Errno::EACCES, Errno::EOPNOTSUPP, Errno::EAFNOSUPPORT];
    absent.iter().any(|errno| error.raw_os_error() == Some(*errno as i32))
}

fn address_body(interface: u32, address: IpAddr) -> Vec<u8> {
    const IFA_ADDRESS: u16 = 1;
    const IFA_LOCAL: u16 = 2;
    // No one else has it (RFC 4862 §5.4), so it can be used at once.
    const IFA_F_NODAD: u8 = 2;
    let bytes = octets(address);
    let whole = (8 * bytes.len()) as u8;
    // Family, length of the prefix, flags, scope, interface.
    let mut body = vec![family(address), whole, IFA_F_NODAD, 0];
    body.extend(interface.to_ne_bytes());
    attribute(&mut body, IFA_LOCAL, &bytes);
    attribute(&mut body, IFA_ADDRESS, &bytes);
    body
}

fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    family as u8
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(ipv4) => ipv4.octets().to_vec(),
        IpAddr::V6(ipv6) => ipv6.octets().to_vec(),
    }
}

/// Returns the bytes of a network; its prefix ends with a byte.
fn network(address: IpAddr, prefix: u8) -> Vec<u8> {
    let mut bytes = octets(address);
    bytes[usize::from(prefix / 8)..].fill(0);
    bytes
}

/// Appends an attribute: its length, its type, its value, which are of multiples of four bytes.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
}

/// Sends a request, and waits for the answer.
fn request(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    const NLMSG_ERROR: u16 = 2;
    const HEADER: usize = 16;
    // The header: length, type, flags, sequence number, sender.
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);

    let routing = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    sendto(routing.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;

    let mut answer = [0; 256];
    let length = recv(routing.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // The answer: a header as above, then an error number, negative or zero for success.
    let (Some(kind), Some(code)) = (answer[..length].get(4..6), answer[..length].get(16..20))
    else {
        return Err(ErrorKind::UnexpectedEof.into());
    };
    let kind = u16::from_ne_bytes([kind[0], kind[1]]);
    let code = i32::from_ne_bytes([code[0], code[1], code[2], code[3]]);
    match (kind, code) {
        (NLMSG_ERROR, 0) => Ok(()),
        (NLMSG_ERROR, code) => Err(Errno::from_raw(-code).into()),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}
