//! Programs' datagrams while the client's machine changes its address.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tessera_link::{End, Link, LinkParameters};
use tessera_test_peers::Directory;

use super::emulated::{at, link};
use super::program::Server;

/// A transfer of a hundred blocks, each a round trip, goes on at the next address, over the same connection.
#[test]
fn a_coap_transfer_goes_on_when_the_client_changes_its_address() {
    let parameters = LinkParameters { rtt: Duration::from_millis(20), ..LinkParameters::default() };
    let Some(link) = link(&parameters) else { return };
    let first = link.addresses();
    let _coap = CoapServer::start(&link);
    let server = at(&link, End::Server, move || {
        let listen = format!("{}:0", first.server);
        Server::listening(&listen, &["--udp", "--forward", COAP])
    });
    let options = [&server.address, "--fingerprint", &server.fingerprint, "--udp"];
    let options = options.map(str::to_owned);
    let client = at(&link, End::Client, move || {
        let options = options.each_ref().map(String::as_str);
        Server::connecting(&[&options[..], &["--listen", "127.0.0.1:0"]].concat())
    });
    let resource = format!("coap://{}/example_data", client.address);

    let long = "0123456789abcdef".repeat(100);
    let directory = Directory::new();
    let file = directory.write("data", &long);
    let put = ["-m", "put", "-f", &file, &resource].map(str::to_owned);
    at(&link, End::Client, move || request(&put));
    let get = ["-b", "16", &resource].map(str::to_owned);
    let getting = link.spawn_thread(End::Client, move || request(&get)).unwrap();
    sleep(Duration::from_millis(600));
    let next = link.add_client_address(&parameters).unwrap();
    link.remove_client_address(first.client).unwrap();
    sleep(Duration::from_millis(300));
    assert!(!getting.is_finished(), "the address changes while it runs");
    assert_eq!(getting.join().unwrap().trim_end(), long);

    let ours = client.end();
    assert_eq!(ours.len(), 2, "{ours:?}");
    let theirs = [server.next(), server.next()];
    for fact in ours.iter().chain(&theirs) {
        assert_eq!(fact["error"], Value::Null, "{fact}");
    }
    // The connection of the put, which had ended, is kept for its program, and has moved too.
    let is_next =
        |it: &Value| it["address"].as_str().is_some_and(|it| it.starts_with(&format!("{next}:")));
    assert!(theirs.iter().all(is_next), "{theirs:?}");
}

/// Where the CoAP server listens, in the server's namespace.
const COAP: &str = "127.0.0.1:5683";

/// libcoap's server in the server's namespace; ends when it is dropped.
struct CoapServer(Child);

impl CoapServer {
    fn start(link: &Link) -> Self {
        let mut command = Command::new("coap-server-notls");
        command.args(["-A", "127.0.0.1", "-p", "5683", "-d", "10"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(link.spawn(End::Server, command).unwrap())
    }
}

impl Drop for CoapServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a request; returns its output.
fn request(arguments: &[String]) -> String {
    let output = Command::new("coap-client-notls").args(["-B", "20"]).args(arguments).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}
