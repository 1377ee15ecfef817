//! Shows what distance and loss do to TCP: how long a connection and one megabyte take.
//!
//! ```text
//! cargo run -p tessera-link --example round_trips
//! ```

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use tessera_link::{End, Link, LinkKind, LinkParameters, enter_user_namespace_if_needed};

const MEGABYTE: usize = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    enter_user_namespace_if_needed()?;
    let link = Link::open(LinkKind::Tun, &LinkParameters::default())?;
    println!("{:>6} {:>6} {:>12} {:>12} {:>6}", "rtt", "loss", "connect", "1 MB", "lost");
    for (rtt, loss) in [(0, 0.0), (20, 0.0), (20, 0.01), (100, 0.0), (100, 0.01)] {
        let rtt = Duration::from_millis(rtt);
        link.set(&LinkParameters { rtt, loss, seed: 1, ..LinkParameters::default() })?;
        let (connected, done) = transfer(&link)?;
        println!(
            "{:>3} ms {:>4} % {:>9.1} ms {:>9.1} ms {:>6}",
            rtt.as_millis(),
            loss * 100.0,
            connected.as_secs_f64() * 1e3,
            done.as_secs_f64() * 1e3,
            link.statistics().to_client.lost,
        );
    }
    Ok(())
}

/// Connects, and reads everything that the server sends; returns the time to connect, and the time in all.
fn transfer(link: &Link) -> Result<(Duration, Duration), Box<dyn Error>> {
    let address = SocketAddr::new(link.addresses().server, 0);
    let listening = link.spawn_thread(End::Server, move || TcpListener::bind(address))?;
    let listener = listening.join().map_err(|_| "the server's thread ended early")??;
    let address = listener.local_addr()?;
    let client = link.spawn_thread(End::Client, move || {
        let start = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        let connected = start.elapsed();
        stream.read_exact(&mut vec![0; MEGABYTE])?;
        io::Result::Ok((connected, start.elapsed()))
    })?;
    listener.accept()?.0.write_all(&vec![7; MEGABYTE])?;
    Ok(client.join().map_err(|_| "the client's thread ended early")??)
}
