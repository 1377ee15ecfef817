//! The connections of one test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::resume::ClientSession;
use tessera::{Event, Output, ReadEvent, Time};

use crate::configuration::Shared;
use crate::expectations;
use crate::flags::{Flags, Scope};
use crate::options::Options;
use crate::side::Side;

pub fn run(flags: &Flags) -> Result<(), String> {
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Whole milliseconds, as the runner counts a ticket's age: only `-resumption-delay` advances the clock, and the
    // runner expects exactly that age.
    let start = start - Duration::from_nanos(u64::from(start.subsec_nanos() % 1_000_000));
    let shared = Shared::new(start)?;
    let mut session = None;
    let mut delay = Duration::ZERO;
    for index in 0..=flags.get(Scope::Initial).resume_count {
        let scope = if index == 0 { Scope::Initial } else { Scope::Resume };
        let options = flags.get(scope);
        if index > 0 {
            delay += Duration::from_secs(options.resumption_delay);
            if !options.is_server && session.is_none() {
                return Err("no session to offer".into());
            }
        }
        let mut exchange = Exchange::start(flags, scope, session.take(), &shared, delay)?;
        exchange.is_resume = index > 0;
        session = exchange.run(flags)?;
    }
    Ok(())
}

struct Exchange<'f> {
    options: &'f Options,
    socket: TcpStream,
    side: Side,
    output: Output,
    now: Time,
    is_resume: bool,
    offered_early_data: bool,
    session: Option<ClientSession>,
    /// Data to be written first.
    first_writes: Vec<Vec<u8>>,
    /// `-read-with-unfinished-write`: one byte is sent, the rest waits for data from the peer.
    holds_output: bool,
}

impl<'f> Exchange<'f> {
    fn start(
        flags: &'f Flags,
        scope: Scope,
        session: Option<ClientSession>,
        shared: &Shared,
        delay: Duration,
    ) -> Result<Self, String> {
        let options = flags.get(scope);
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

        let since = shared.start + delay;
        let now = Time { monotonic: since, unix: Some(since) };
        let mut output = Output::new();
        let side = if options.is_server {
            Side::server(options, shared, now)?
        } else {
            // A server that sends a certificate to a client with early data has rejected that.
            let early = options.enable_early_data && session.is_some();
            let judge_options = if early { flags.get(Scope::Retry) } else { options };
            Side::client(options, judge_options, session, shared, now, &mut output)?
        };
        Ok(Self {
            options,
            socket,
            offered_early_data: side.early_data_room() > 0,
            side,
            output,
            now,
            is_resume: false,
            session: None,
            first_writes: first_writes(options),
            holds_output: false,
        })
    }

    /// Runs the connection to its end; returns the last session.
    fn run(mut self, flags: &'f Flags) -> Result<Option<ClientSession>, String> {
        if self.is_resume && self.options.expect_no_offer_early_data && self.offered_early_data {
            return Err("early data was offered".into());
        }
        if self.offered_early_data {
            self.write_early_data()?;
        }
        let mut buffer = vec![0; 1 << 16];
        let mut received = 0..0;
        let mut input: Vec<u8> = Vec::new();
        self.flush()?;
        loop {
            let (consumed, event) = match self.side.read(self.now, &mut input, &mut self.output) {
                Ok(read) => read,
                Err(error) => {
                    let _ = self.flush();
                    self.drain();
                    return Err(error.to_string());
                }
            };
            let read: Vec<u8> = input.drain(..consumed).collect();
            self.flush()?;
            match event {
                Some(ReadEvent::NeedInput) => {
                    if received.is_empty() {
                        received = 0..self.socket.read(&mut buffer).unwrap_or(0);
                        if received.is_empty() {
                            return self.end_of_stream();
                        }
                    }
                    // With `-async`, bytes arrive one by one.
                    let some = if self.options.is_async { 1 } else { received.len() };
                    input.extend_from_slice(&buffer[received.start..received.start + some]);
                    received.start += some;
                }
                Some(ReadEvent::Data(data) | ReadEvent::EarlyData(data)) => {
                    self.echo(&read[data])?
                }
                Some(ReadEvent::Handshake(event)) => self.handshake_event(event, flags)?,
                Some(ReadEvent::PeerClosed) => {
                    self.side.close(&mut self.output);
                    let _ = self.flush();
                    self.drain();
                    return self.finish();
                }
                // A question was answered, or the output was sent.
                _ => (),
            }
        }
    }

    fn handshake_event(&mut self, event: Event, flags: &'f Flags) -> Result<(), String> {
        match event {
            Event::HandshakeComplete => self.handshake_complete(),
            Event::EarlyDataRejected(_) => {
                if !self.options.expect_reject_early_data {
                    return Err("early data was rejected".into());
                }
                self.options = flags.get(Scope::Retry);
                self.first_writes = first_writes(self.options);
                Ok(())
            }
            Event::NewSession(session) => {
                let supports = session.state.max_early_data_size > 0;
                if self.options.expect_no_session {
                    return Err("a session came".into());
                }
                if self.options.expect_ticket_supports_early_data != supports {
                    return Err(format!("the ticket's early data: {supports}"));
                }
                self.session = Some(*session);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn handshake_complete(&mut self) -> Result<(), String> {
        let options = self.options;
        let (facts, selected) = (self.side.facts(), self.side.selected_credential());
        expectations::check(options, self.is_resume, facts, selected)?;
        if options.export_len > 0 {
            let out = self.export()?;
            self.write(&out)?;
        }
        if options.export_traffic_secrets {
            let (read, write) = self.side.traffic_secrets();
            let len = (read.len() as u16).to_le_bytes();
            self.write(&[&len, &*read, &*write].concat())?;
        }
        if options.write_different_record_sizes {
            for len in [0, 1, 255, 256, 257, 16383, 16384, 16385, 32767, 32768, 32769] {
                self.write(&vec![0x42; len])?;
            }
        }
        // The rest of what was held goes out with the handshake.
        self.holds_output = false;
        for data in std::mem::take(&mut self.first_writes) {
            if options.read_with_unfinished_write {
                self.flush()?;
                let written = self.side.write(&data, &mut self.output);
                written.map_err(|error| error.to_string())?;
                self.hold_output()?;
            } else {
                self.write(&data)?;
            }
        }
        if options.shim_shuts_down {
            self.side.close(&mut self.output);
        } else {
            self.before_read()?;
        }
        self.flush()
    }

    fn write_early_data(&mut self) -> Result<(), String> {
        if self.options.export_len > 0 {
            self.export()?;
        }
        self.flush()?;
        let mut writes = std::mem::take(&mut self.first_writes).into_iter();
        for mut data in writes.by_ref() {
            let written = self.side.write_early_data(&data, &mut self.output);
            data.drain(..written.map_err(|error| error.to_string())?);
            if self.options.read_with_unfinished_write {
                self.hold_output()?;
            }
            self.flush()?;
            if !data.is_empty() {
                self.first_writes.push(data);
                break;
            }
        }
        self.first_writes.extend(writes);
        Ok(())
    }

    /// Sends one byte, and holds the rest.
    fn hold_output(&mut self) -> Result<(), String> {
        let first = self.output.as_slice().first().copied();
        if let Some(first) = first {
            self.socket.write_all(&[first]).map_err(|error| format!("write: {error}"))?;
            self.output.consume(1);
            self.holds_output = true;
        }
        Ok(())
    }

    fn before_read(&mut self) -> Result<(), String> {
        if self.options.key_update_before_read {
            self.update_keys()?;
        }
        Ok(())
    }

    fn export(&mut self) -> Result<Vec<u8>, String> {
        let mut out = vec![0; self.options.export_len];
        self.side.export(self.options, &mut out).map_err(|error| error.to_string())?;
        Ok(out)
    }

    fn update_keys(&mut self) -> Result<(), String> {
        self.side.update_keys(&mut self.output).map_err(|error| error.to_string())
    }

    /// Sends back every byte, exclusive-or 0xff.
    fn echo(&mut self, data: &[u8]) -> Result<(), String> {
        self.holds_output = false;
        if self.options.shim_shuts_down {
            return Ok(());
        }
        // The reference shim reads as much at once.
        let read_size = if self.options.read_size > 0 { self.options.read_size } else { 512 };
        for data in data.chunks(read_size) {
            if self.options.key_update {
                self.update_keys()?;
            }
            let inverted: Vec<u8> = data.iter().map(|byte| byte ^ 0xff).collect();
            self.write(&inverted)?;
            self.before_read()?;
        }
        self.flush()
    }

    fn write(&mut self, mut data: &[u8]) -> Result<(), String> {
        while !data.is_empty() {
            let written = self.side.write(data, &mut self.output);
            let written = written.map_err(|error| error.to_string())?;
            data = &data[written..];
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        while !self.output.is_empty() && !self.holds_output {
            let written = self.socket.write(self.output.as_slice());
            let written = written.map_err(|error| format!("write: {error}"))?;
            self.output.consume(written);
        }
        Ok(())
    }

    /// Reads what is still in flight, so that the peer can read what was sent to it.
    fn drain(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Write);
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
        let options = self.options;
        if !self.side.facts().handshake_complete {
            return Err("the peer closed during the handshake".into());
        }
        let expects_session = !options.expect_no_session && !options.shim_shuts_down;
        if !options.is_server && expects_session && self.session.is_none() {
            return Err("no session came".into());
        }
        Ok(self.session)
    }
}

fn first_writes(options: &Options) -> Vec<Vec<u8>> {
    let writes = options.shim_writes_first || options.read_with_unfinished_write;
    let times = if writes { options.repeat_initial_write.unwrap_or(1) } else { 0 };
    vec![options.shim_initial_write.clone().unwrap_or(b"hello".to_vec()); times]
}
