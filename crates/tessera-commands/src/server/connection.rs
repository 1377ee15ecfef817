//! One client.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tessera_kit::report::Report;
use tessera_tokio::Acceptor;
use tokio::net::TcpStream;

use super::client::Client;
use super::ending::Ending;
use super::{echo, http};
use crate::counted::Counted;
use crate::options::Answer;

/// What the clients of a server share.
pub(super) struct Server {
    pub(super) acceptor: Acceptor,
    pub(super) answer: Answer,
    pub(super) report: Arc<Report>,
    /// Becomes true when the server ends.
    pub(super) ending: Ending,
}

impl Server {
    /// Serves a client to its end, and tells about it.
    pub(super) async fn serve(&self, socket: TcpStream, address: SocketAddr) {
        // Without it only the answer is slower.
        let _ = socket.set_nodelay(true);
        let mut ending = self.ending.clone();
        let stream = match self.acceptor.start(Counted::new(socket)) {
            Ok(stream) => stream,
            Err(error) => return self.report.line(&format_args!("{address}: {error}")),
        };
        let mut client = Client::new(stream, address);
        let result = self.answer(&mut client, &mut ending).await;
        self.report.tell(&client.facts(result.err()));
    }

    async fn answer(&self, client: &mut Client, ending: &mut Ending) -> io::Result<()> {
        tokio::select! {
            handshake = client.handshake() => handshake?,
            // Whoever is not through yet will come again.
            () = ending.begun() => return Ok(()),
        }
        match self.answer {
            Answer::Echo => echo::answer(client, ending).await,
            Answer::Http => http::answer(client, ending).await,
        }
    }
}
