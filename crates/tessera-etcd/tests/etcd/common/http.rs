//! Parses requests as a member of etcd receives them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

pub struct Request {
    pub path: String,
    pub body: Vec<u8>,
}

/// Returns the next request of a connection; `None` at its end.
pub fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (reader.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let path = head.split(' ').nth(1)?.to_owned();
    let mut length = head.lines().filter_map(|line| line.split_once(": "));
    let (_, length) = length.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    let mut body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, body })
}

pub fn answer(mut stream: &TcpStream, status: u16, body: &[u8]) -> Option<()> {
    let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).ok()
}
