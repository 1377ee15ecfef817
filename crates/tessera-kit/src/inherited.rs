//! Sockets that a supervisor hands over (sd_listen_fds(3)).

use std::env;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use listenfd::ListenFd;

use crate::ProgramError;

/// The listening sockets that this process was started with, by name.
#[derive(Debug, Default)]
pub struct InheritedSockets {
    sockets: Vec<(String, InheritedSocket)>,
}

/// A listening socket.
#[derive(Debug)]
pub enum InheritedSocket {
    /// Listens at a TCP address.
    Tcp(TcpListener),
    /// Listens at a path, whose file belongs to the supervisor.
    Unix(UnixListener),
}

impl InheritedSockets {
    /// Takes them from `LISTEN_FDS` and `LISTEN_FDNAMES`, once. Call it before the process has other threads,
    /// because it changes the environment. Returns an error for a socket of an unsupported kind.
    pub fn from_env() -> Result<Self, ProgramError> {
        let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let mut descriptors = ListenFd::from_env();
        let mut sockets = Vec::new();
        for index in 0..descriptors.len() {
            let name = names.next().filter(|name| !name.is_empty()).unwrap_or(UNNAMED).to_owned();
            let socket = match descriptors.take_tcp_listener(index) {
                Ok(socket) => socket.map(InheritedSocket::Tcp),
                Err(_) => {
                    let socket = descriptors.take_unix_listener(index).map_err(|error| {
                        ProgramError::settings(format!(
                            "LISTEN_FDS: {name}: {error}; pass sockets of TCP or Unix streams, as ListenStream= does"
                        ))
                    })?;
                    socket.map(InheritedSocket::Unix)
                }
            };
            sockets.extend(socket.map(|socket| (name, socket)));
        }
        Ok(Self { sockets })
    }

    /// Returns the names of sockets not taken yet, to report those that a supervisor passed but the
    /// configuration doesn't name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sockets.iter().map(|(name, _)| name.as_str())
    }

    /// Takes all remaining sockets.
    pub fn take_all(&mut self) -> Vec<InheritedSocket> {
        self.sockets.drain(..).map(|(_, socket)| socket).collect()
    }

    /// Takes all sockets of this name: at least one, and each only once.
    pub fn take(&mut self, name: &str) -> Result<Vec<InheritedSocket>, ProgramError> {
        let of_name: Vec<_> = self.sockets.extract_if(.., |(other, _)| other == name).collect();
        if of_name.is_empty() {
            let others: Vec<_> = self.names().collect();
            let there = match others.as_slice() {
                [] => "none was handed over".to_owned(),
                names => format!("the names are {}", names.join(", ")),
            };
            return Err(ProgramError::settings(format!(
                "systemd:{name}: no socket has this name; {there}: set FileDescriptorName= in the socket unit"
            )));
        }
        Ok(of_name.into_iter().map(|(_, socket)| socket).collect())
    }
}

/// systemd's default name for unnamed sockets: sd_listen_fds_with_names(3).
const UNNAMED: &str = "unknown";
