//! The client of the image with a PSK at `openssl s_server`.
#![cfg(not(any(feature = "chains", feature = "kem-pinned")))]

use std::error::Error as StdError;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tessera::wire::AlertDescription;
use tessera::{ClientConnection, Error, Output};
use tessera_firmware_host::connection::{Input, Progress, read};
use tessera_firmware_host::ends;

/// A server of OpenSSL, which sends two tickets.
struct OpenSsl {
    child: Child,
    port: u16,
}

impl OpenSsl {
    fn start(arguments: &[&str]) -> Result<Self, Box<dyn StdError>> {
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-tls1_3", "-rev"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("a pipe")?).lines();
        for line in lines {
            if let Some(port) = line?.strip_prefix("ACCEPT 127.0.0.1:") {
                return Ok(Self { child, port: port.trim().parse()? });
            }
        }
        Err("openssl s_server does not listen".into())
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a line; returns how long the answer is.
fn ask(server: &OpenSsl) -> Result<usize, Box<dyn StdError>> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port))?;
    let mut output = Output::new();
    let config = ends::client().checked()?;
    let mut client = ClientConnection::start(config, ends::destination(), ends::NOW, &mut output)?;
    let (mut input, mut progress) = (Input::new(), Progress::default());
    let mut has_written = false;
    while progress.data == 0 {
        if progress.is_complete && !has_written {
            client.write(b"from the device\n", &mut output)?;
            has_written = true;
        }
        stream.write_all(output.as_slice())?;
        output.consume(output.as_slice().len());
        let count = stream.read(&mut input.room()[..1])?;
        if count == 0 {
            return Err("the server ended the connection".into());
        }
        input.received(count);
        let result = read(&mut client, &mut input, &mut output, &mut progress);
        stream.write_all(output.as_slice())?;
        output.consume(output.as_slice().len());
        result?;
    }
    Ok(progress.data)
}

/// The key of `ends.rs`.
const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// The tickets that it sends are not kept.
#[test]
fn openssl_with_the_psk_answers() {
    let server = OpenSsl::start(&["-nocert", "-psk_identity", "device", "-psk", KEY]);
    let answer = ask(&server.expect("starts")).expect("an answer");
    assert_eq!(answer, "from the device\n".len());
}

/// The client asks for no certificate: it has no code to read one.
#[test]
fn a_server_without_the_psk_has_nothing_to_answer() {
    let pki = concat!(env!("CARGO_MANIFEST_DIR"), "/../pki");
    let (chain, key) = (format!("{pki}/server.der"), format!("{pki}/server.key.der"));
    let server =
        OpenSsl::start(&["-cert", &chain, "-certform", "DER", "-key", &key, "-keyform", "DER"]);
    let error = ask(&server.expect("starts")).expect_err("no certificate is read");
    match *error.downcast::<Error>().expect("the engine's") {
        Error::AlertReceived(alert) => assert_eq!(alert, AlertDescription::MISSING_EXTENSION),
        error => panic!("{error}"),
    }
}
