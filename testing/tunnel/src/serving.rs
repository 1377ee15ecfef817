//! Servers of the tests: a thread per connection.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Serves every connection to the address that it returns. The threads end with the test's process.
pub fn serve(handle: impl Fn(TcpStream) -> io::Result<()> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let handle = handle.clone();
            // A client that disappears is an error of that connection only.
            thread::spawn(move || drop(handle(stream)));
        }
    });
    address
}
