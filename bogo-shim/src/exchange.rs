//! The connections of one test.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::resume::ClientSession;
use tessera::{Error, Event, ReadEvent, Time};

use crate::configuration::Shared;
use crate::expectations;
use crate::flags::{Flags, Scope};
use crate::link::Link;
use crate::options::Options;
use crate::packet_adaptor::Command;
use crate::side::{Question, Side};

pub fn run(flags: &Flags) -> Result<(), String> {
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Whole milliseconds, as the runner counts a ticket's age: only `-resumption-delay` and the packet adaptor advance
    // the clock, and the runner expects exactly that age.
    let mut time = start - Duration::from_nanos(u64::from(start.subsec_nanos() % 1_000_000));
    let shared = Shared::new(time)?;
    let mut session = None;
    for index in 0..=flags.get(Scope::Initial).resume_count {
        let scope = if index == 0 { Scope::Initial } else { Scope::Resume };
        let options = flags.get(scope);
        if index > 0 {
            time += Duration::from_secs(options.resumption_delay);
            if !options.is_server && session.is_none() {
                return Err("no session to offer".into());
            }
        }
        let mut exchange = Exchange::start(flags, scope, session.take(), &shared, time)?;
        exchange.is_resume = index > 0;
        exchange.run(flags)?;
        time = exchange.now.monotonic;
        session = exchange.session;
    }
    Ok(())
}

struct Exchange<'f> {
    options: &'f Options,
    link: Link,
    side: Side,
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
        time: Duration,
    ) -> Result<Self, String> {
        let options = flags.get(scope);
        let link = Link::connect(options).map_err(|error| format!("connect: {error}"))?;
        let now = Time { monotonic: time, unix: Some(time) };
        let side = if options.is_server {
            Side::server(options, shared, now)?
        } else {
            // A server that sends a certificate to a client with early data has rejected that.
            let early = options.enable_early_data && session.is_some();
            let judge_options = if early { flags.get(Scope::Retry) } else { options };
            Side::client(options, judge_options, session, shared, now)?
        };
        Ok(Self {
            options,
            link,
            offered_early_data: side.early_data_room() > 0,
            side,
            now,
            is_resume: false,
            session: None,
            first_writes: first_writes(options),
            holds_output: false,
        })
    }

    /// Runs the connection to its end.
    fn run(&mut self, flags: &'f Flags) -> Result<(), String> {
        if self.is_resume && self.options.expect_no_offer_early_data && self.offered_early_data {
            return Err("early data was offered".into());
        }
        if self.offered_early_data {
            self.write_early_data()?;
        }
        let mut input: Vec<u8> = Vec::new();
        self.flush()?;
        loop {
            let (consumed, event) = match self.side.read(self.now, &mut input) {
                Ok(read) => read,
                Err(error) => return Err(self.failed(&error)),
            };
            let read: Vec<u8> = input.drain(..consumed).collect();
            if event.is_err() {
                // A question is answered at once, so that what follows fills the last record.
                self.flush()?;
            }
            match event {
                Ok(question) => self.answer(question)?,
                Err(ReadEvent::NeedInput) => match self.link.receive() {
                    Ok(Some(command)) => self.obey(command, &mut input)?,
                    Ok(None) => return self.end_of_stream(),
                    Err(error) => return Err(format!("read: {error}")),
                },
                Err(ReadEvent::Data(data) | ReadEvent::EarlyData(data)) => {
                    self.echo(&read[data])?
                }
                Err(ReadEvent::Handshake(event)) => self.handshake_event(event, flags)?,
                Err(ReadEvent::PeerClosed) => {
                    self.side.close();
                    let _ = self.flush();
                    self.link.drain();
                    return self.finish();
                }
                // The output was sent.
                Err(_) => (),
            }
        }
    }

    fn obey(&mut self, command: Command, input: &mut Vec<u8>) -> Result<(), String> {
        match command {
            Command::Receive(bytes) => input.extend(bytes),
            Command::Pass(time) => {
                self.link.acknowledge_pass().map_err(|error| format!("write: {error}"))?;
                self.pass(time)?;
            }
            Command::LimitDatagrams(len) => self.side.limit_datagrams(len),
            Command::SetFirstTimeout(time) => self.side.set_first_timeout(time),
            Command::ExpectTimeout(expected) => {
                let due = self.side.transmits_at();
                let due = due.map(|at| at.saturating_sub(self.now.monotonic));
                if due != expected {
                    return Err(format!("the next timeout is after {due:?}, not {expected:?}"));
                }
            }
        }
        Ok(())
    }

    /// Lets time pass. The runner expects timers that are up to 15 ms early.
    fn pass(&mut self, time: Duration) -> Result<(), String> {
        self.now.monotonic += time;
        let soon = self.now.monotonic + Duration::from_millis(15);
        let due = self.side.transmits_at().filter(|due| *due <= soon);
        self.now.monotonic = self.now.monotonic.max(due.unwrap_or_default());
        self.now.unix = Some(self.now.monotonic);
        match self.side.handle_timeout(self.now) {
            Ok(()) => self.flush(),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn answer(&mut self, question: Question) -> Result<(), String> {
        if question.is_for_signature() && !self.options.private_key_delay.is_zero() {
            self.pass(self.options.private_key_delay)?;
        }
        let answered = self.side.answer(question, self.now);
        answered.map_err(|error| self.failed(&error))
    }

    /// Sends the alert of an error.
    fn failed(&mut self, error: &Error) -> String {
        let _ = self.flush();
        self.link.drain();
        error.to_string()
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
        if options.reverify_on_resume && facts.psk.is_some() {
            self.side.verify_again(options).map_err(|error| self.failed(&error))?;
        }
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
                let written = self.side.write(&data, self.now);
                written.map_err(|error| error.to_string())?;
                self.hold_output()?;
            } else {
                self.write(&data)?;
            }
        }
        if options.shim_shuts_down {
            self.side.close();
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
            let written = self.side.write_early_data(&data);
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
        if let Some(first) = self.side.transmit(1, self.now) {
            self.link.send(&first).map_err(|error| format!("write: {error}"))?;
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
        self.side.update_keys().map_err(|error| error.to_string())
    }

    /// Sends back every byte, exclusive-or 0xff.
    fn echo(&mut self, data: &[u8]) -> Result<(), String> {
        self.holds_output = false;
        if self.options.shim_shuts_down {
            return Ok(());
        }
        // The reference shim reads as much at once.
        let read_size = match self.options.read_size {
            0 if self.options.dtls => 16_384,
            0 => 512,
            size => size,
        };
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
            let written = self.side.write(data, self.now);
            let written = written.map_err(|error| error.to_string())?;
            data = &data[written..];
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        while !self.holds_output
            && let Some(bytes) = self.side.transmit(usize::MAX, self.now)
        {
            self.link.send(&bytes).map_err(|error| format!("write: {error}"))?;
        }
        Ok(())
    }

    fn end_of_stream(&self) -> Result<(), String> {
        if self.options.check_close_notify || !self.side.facts().handshake_complete {
            return Err("the stream ended early".into());
        }
        self.finish()
    }

    fn finish(&self) -> Result<(), String> {
        let options = self.options;
        if !self.side.facts().handshake_complete {
            return Err("the peer closed during the handshake".into());
        }
        let expects_session = !options.expect_no_session && !options.shim_shuts_down;
        if !options.is_server && expects_session && self.session.is_none() {
            return Err("no session came".into());
        }
        Ok(())
    }
}

fn first_writes(options: &Options) -> Vec<Vec<u8>> {
    let writes = options.shim_writes_first || options.read_with_unfinished_write;
    let times = if writes { options.repeat_initial_write.unwrap_or(1) } else { 0 };
    vec![options.shim_initial_write.clone().unwrap_or(b"hello".to_vec()); times]
}
