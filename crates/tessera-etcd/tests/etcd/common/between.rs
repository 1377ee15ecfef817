//! A forwarder between a server and a member of etcd, controlled by a test.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use super::http::{Request, answer, read_request};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Answered,
    /// The member executes it, and its answer is lost: the connection ends.
    AnswerLost,
    /// It never reaches the member: the connection ends.
    Lost,
}

type FateChooser = dyn Fn(&Request) -> Fate + Send + Sync;

/// Returns the address of a forwarder to `member`. A request waits until `decides` returns; watches are refused.
pub fn between(
    member: String,
    decides: impl Fn(&Request) -> Fate + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let decides: Arc<FateChooser> = Arc::new(decides);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (member, decides) = (member.clone(), decides.clone());
            thread::spawn(move || forward(&stream, &member, &*decides));
        }
    });
    address
}

fn forward(stream: &TcpStream, member: &str, decides: &FateChooser) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let request = read_request(&mut reader)?;
        let fate = if request.path == "/v3/watch" { Fate::Lost } else { decides(&request) };
        if fate == Fate::Lost {
            return None;
        }
        let (status, body) = ask(member, &request)?;
        if fate == Fate::AnswerLost {
            return None;
        }
        answer(stream, status, &body)?;
    }
}

/// Writes through a member directly, while its cluster handle can't be used.
pub fn write(member: &str, path: &str, body: &str) {
    let request = Request { path: path.into(), body: body.as_bytes().to_vec() };
    assert_eq!(ask(member, &request).map(|(status, _)| status), Some(200));
}

fn ask(member: &str, request: &Request) -> Option<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(member).ok()?;
    let Request { path, body } = request;
    // HTTP/1.0: the answer ends with the connection.
    let head = format!("POST {path} HTTP/1.0\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, answer.split_off(end + 4)))
}
