//! The connections of one test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::resume::ClientSession;
use tessera::{
    ClientConnection, Destination, Error, Event, Facts, Output, Progress, ReadEvent,
    ServerConnection, Time,
};

use crate::configuration::{self, Register};
use crate::flags::{Flags, Options, Scope};

pub fn run(flags: &Flags) -> Result<(), String> {
    let register = Arc::new(Register::default());
    let mut session = None;
    let mut delay = 0;
    for index in 0..=flags.get(Scope::Initial).resume_count {
        let scope = if index == 0 { Scope::Initial } else { Scope::Resume };
        let options = flags.get(scope);
        if index > 0 {
            delay += options.resumption_delay;
            if !options.is_server && session.is_none() {
                return Err("no session to offer".into());
            }
        }
        let mut connection = Exchange::start(options, session.take(), &register, delay)?;
        connection.is_resume = index > 0;
        session = connection.run(flags)?;
    }
    Ok(())
}

/// Either side of a connection.
enum Side {
    Client(ClientConnection),
    Server(ServerConnection),
}

/// What a read brought, without borrowing from anything.
enum Happened {
    NeedInput,
    Data(Vec<u8>),
    Handshake(Event),
    PeerClosed,
    Other,
}

fn happened<Q>(progress: Progress<'_, Q>) -> (usize, Happened) {
    let event = match progress.event {
        ReadEvent::NeedInput => Happened::NeedInput,
        ReadEvent::Data(data) | ReadEvent::EarlyData(data) => Happened::Data(data.to_vec()),
        ReadEvent::Handshake(event) => Happened::Handshake(event),
        ReadEvent::PeerClosed => Happened::PeerClosed,
        _ => Happened::Other,
    };
    (progress.consumed, event)
}

impl Side {
    fn read(
        &mut self,
        now: Time,
        input: &mut [u8],
        output: &mut Output,
    ) -> Result<(usize, Happened), Error> {
        match self {
            Self::Client(client) => client.read(now, input, output).map(happened),
            Self::Server(server) => server.read(now, input, output).map(happened),
        }
    }

    fn write(&mut self, now: Time, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        match self {
            Self::Client(client) => client.write(now, data, output),
            Self::Server(server) => server.write(now, data, output),
        }
    }

    fn update_keys(&mut self, now: Time, output: &mut Output) -> Result<(), Error> {
        match self {
            Self::Client(client) => client.update_keys(now, false, output),
            Self::Server(server) => server.update_keys(now, false, output),
        }
    }

    fn export(&mut self, options: &Options, out: &mut [u8]) -> Result<(), Error> {
        let (label, context) = (options.export_label.as_bytes(), options.export_context.as_bytes());
        match self {
            Self::Client(client) => client.export_keying_material(label, context, out),
            Self::Server(server) => server.export_keying_material(label, context, out),
        }
    }

    fn close(&mut self, output: &mut Output) {
        match self {
            Self::Client(client) => client.close(output),
            Self::Server(server) => server.close(output),
        }
    }

    fn facts(&self) -> &Facts {
        match self {
            Self::Client(client) => client.facts(),
            Self::Server(server) => server.facts(),
        }
    }
}

struct Exchange<'f> {
    options: &'f Options,
    socket: TcpStream,
    side: Side,
    output: Output,
    now: Time,
    is_resume: bool,
    offered_session: bool,
    offered_early_data: bool,
    early_data_accepted: Option<bool>,
    session: Option<ClientSession>,
    /// What is still to be written of the first write.
    first_write: Vec<u8>,
}

impl<'f> Exchange<'f> {
    fn start(
        options: &'f Options,
        session: Option<ClientSession>,
        register: &Arc<Register>,
        delay: u64,
    ) -> Result<Self, String> {
        let mut socket = if options.ipv6 {
            TcpStream::connect((Ipv6Addr::LOCALHOST, options.port))
        } else {
            TcpStream::connect((Ipv4Addr::LOCALHOST, options.port))
        }
        .map_err(|error| format!("connect: {error}"))?;
        let _ = socket.set_nodelay(true);
        socket
            .write_all(&options.shim_id.to_le_bytes())
            .map_err(|error| format!("shim id: {error}"))?;

        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = since + Duration::from_secs(delay);
        let now = Time { monotonic: since, unix: Some(since) };
        let mut output = Output::new();
        let offered_session = session.is_some();
        let mut offered_early_data = false;
        let side = if options.is_server {
            let config = Arc::new(configuration::server(options, register)?);
            Side::Server(ServerConnection::start(config, now).map_err(|e| e.to_string())?)
        } else {
            let config = Arc::new(configuration::client(options)?);
            let server_name = options.host_name.clone();
            let destination = Destination { server_name, session, ..Destination::default() };
            let client = ClientConnection::start(config, destination, now, &mut output)
                .map_err(|e| e.to_string())?;
            offered_early_data = client.early_data_room() > 0;
            Side::Client(client)
        };
        Ok(Self {
            options,
            socket,
            side,
            output,
            now,
            is_resume: false,
            offered_session,
            offered_early_data,
            early_data_accepted: None,
            session: None,
            first_write: match &options.shim_initial_write {
                Some(text) => text.clone(),
                None if options.shim_writes_first => b"hello".to_vec(),
                None => Vec::new(),
            },
        })
    }

    /// Runs the connection to its end; gives the last session.
    fn run(mut self, flags: &'f Flags) -> Result<Option<ClientSession>, String> {
        if self.is_resume && self.options.expect_no_offer_early_data && self.offered_early_data {
            return Err("early data was offered".into());
        }
        self.write_early_data()?;
        let mut buffer = vec![0; 1 << 16];
        let mut input: Vec<u8> = Vec::new();
        self.flush()?;
        loop {
            let (consumed, happened) = match self.side.read(self.now, &mut input, &mut self.output)
            {
                Ok(read) => read,
                Err(error) => {
                    let _ = self.flush();
                    self.drain();
                    return Err(format!("{error:?}"));
                }
            };
            input.drain(..consumed);
            self.flush()?;
            match happened {
                Happened::NeedInput => {
                    let len = self.socket.read(&mut buffer).unwrap_or(0);
                    if len == 0 {
                        return self.end_of_stream();
                    }
                    input.extend_from_slice(&buffer[..len]);
                }
                Happened::Data(data) => self.echo(&data)?,
                Happened::Handshake(Event::HandshakeComplete) => self.handshake_complete(flags)?,
                Happened::Handshake(Event::EarlyDataAccepted) => {
                    self.early_data_accepted = Some(true);
                }
                Happened::Handshake(Event::EarlyDataRejected(_)) => {
                    self.early_data_accepted = Some(false);
                    self.options = flags.get(Scope::Retry);
                }
                Happened::Handshake(Event::NewSession(session)) => {
                    let supports = session.state.max_early_data_size > 0;
                    if self.options.expect_no_session {
                        return Err("a session came".into());
                    }
                    if self.options.expect_ticket_supports_early_data != supports
                        && self.options.enable_early_data
                    {
                        return Err(format!("the ticket's early data: {supports}"));
                    }
                    self.session = Some(*session);
                }
                Happened::Handshake(Event::EarlyDataEnd) | Happened::Other => (),
                Happened::PeerClosed => {
                    self.side.close(&mut self.output);
                    let _ = self.flush();
                    self.drain();
                    return self.finish();
                }
            }
        }
    }

    fn write_early_data(&mut self) -> Result<(), String> {
        if let Side::Client(client) = &mut self.side
            && self.offered_early_data
        {
            let written = client.write_early_data(&self.first_write, &mut self.output);
            self.first_write.drain(..written.map_err(|error| format!("{error:?}"))?);
        }
        Ok(())
    }

    fn handshake_complete(&mut self, _: &Flags) -> Result<(), String> {
        self.check_facts()?;
        let options = self.options;
        if options.export_len > 0 {
            let mut out = vec![0; options.export_len];
            self.side.export(options, &mut out).map_err(|error| format!("{error:?}"))?;
            self.write(&out)?;
        }
        if options.key_update {
            self.side.update_keys(self.now, &mut self.output).map_err(|e| format!("{e:?}"))?;
        }
        let first_write = std::mem::take(&mut self.first_write);
        self.write(&first_write)?;
        if options.shim_shuts_down {
            self.side.close(&mut self.output);
        }
        self.flush()
    }

    /// Sends back every byte, exclusive-or 0xff.
    fn echo(&mut self, data: &[u8]) -> Result<(), String> {
        let inverted: Vec<u8> = data.iter().map(|byte| byte ^ 0xff).collect();
        self.write(&inverted)
    }

    fn write(&mut self, mut data: &[u8]) -> Result<(), String> {
        while !data.is_empty() {
            let written = self.side.write(self.now, data, &mut self.output);
            let written = written.map_err(|error| format!("{error:?}"))?;
            data = &data[written..];
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        while !self.output.is_empty() {
            let written = self.socket.write(self.output.as_slice());
            match written {
                Ok(count) if count > 0 => self.output.consume(count),
                // The runner closed; what it said is still to be read.
                _ => self.output.consume(usize::MAX >> 1),
            }
        }
        Ok(())
    }

    /// The runner may still be writing: closing before it is done would reset the connection.
    fn drain(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        let _ = self.socket.set_read_timeout(Some(Duration::from_secs(5)));
        let mut sink = [0; 4096];
        while matches!(self.socket.read(&mut sink), Ok(count) if count > 0) {}
    }

    fn end_of_stream(self) -> Result<Option<ClientSession>, String> {
        if self.options.check_close_notify || !self.side.facts().handshake_complete {
            return Err("the stream ended early".into());
        }
        self.finish()
    }

    fn finish(self) -> Result<Option<ClientSession>, String> {
        if !self.side.facts().handshake_complete {
            return Err("the peer closed during the handshake".into());
        }
        Ok(self.session)
    }

    fn check_facts(&self) -> Result<(), String> {
        let (options, facts) = (self.options, self.side.facts());
        let expect = |holds: bool, what: &str| match holds {
            true => Ok(()),
            false => Err(format!("unexpected {what}: {facts:?}")),
        };
        if self.is_resume {
            expect(facts.psk.is_some() != options.expect_session_miss, "resumption")?;
        }
        if let Some(curve) = options.expect_curve {
            expect(facts.group.is_some_and(|group| group.0 == curve), "group")?;
        }
        if let Some(cipher) = options.expect_cipher {
            expect(facts.suite.is_some_and(|suite| suite.0 == cipher), "suite")?;
        }
        if let Some(scheme) = options.expect_peer_signature_algorithm
            && !options.is_server
            && facts.psk.is_none()
        {
            expect(facts.signature_scheme.is_some_and(|s| s.0 == scheme), "signature scheme")?;
        }
        if let Some(protocol) = &options.expect_alpn {
            expect(facts.protocol.as_deref().unwrap_or_default() == protocol, "protocol")?;
        }
        if let Some(name) = &options.expect_server_name {
            expect(facts.server_name.as_ref() == Some(name), "server_name")?;
        }
        expect(!options.expect_hrr || facts.hello_retry, "HelloRetryRequest")?;
        expect(!options.expect_no_hrr || !facts.hello_retry, "HelloRetryRequest")?;
        let accepted = facts.early_data == tessera::handshake::EarlyDataStatus::Accepted;
        expect(!options.expect_accept_early_data || accepted, "early data")?;
        expect(!options.expect_reject_early_data || !accepted, "early data")?;
        let _ = (self.offered_session, self.early_data_accepted);
        Ok(())
    }
}
