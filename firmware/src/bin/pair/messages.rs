//! What each message of a handshake takes at either end: over the engine's core, so without records.
//!
//! Not in the library: the images of clients alone would link what it instantiates of the engine next to their own.

use cortex_m_semihosting::{hprint, hprintln};
use tessera::crypto::Suite;
use tessera::face::{
    Arrival, Below, Core, Direction, Epoch, HandshakeMessage, Limit, STREAM, TrafficSecret,
};
use tessera::handshake::{Checked, Handshake};
use tessera::wire::HandshakeType;
use tessera::{ClientConfig, Error, ServerConfig};
use tessera_firmware::ends;
use tessera_firmware::heap::{self, Side};
use tessera_firmware::measure::{Meter, call};

/// Connects once, and prints what each message takes.
#[inline(never)]
pub fn measure(
    client: &Checked<ClientConfig>,
    server: &Checked<ServerConfig>,
) -> Result<(), Error> {
    let (mut from_client, mut from_server) = (Sent::new(), Sent::new());
    let mut at_client = Count::new(Side::Client, &mut from_client);
    let mut core = at_client.step(None, |below| {
        Core::client(client.clone(), ends::destination(), &STREAM, ends::NOW, below)
    })?;
    let mut client = (&mut core, at_client);
    heap::switch_to(Side::Server);
    let mut core = Core::server(server.clone(), Arrival::default(), &STREAM, ends::NOW);
    let mut server = (&mut core, Count::new(Side::Server, &mut from_server));
    while deliver(&mut client.1, &mut server)? | deliver(&mut server.1, &mut client)? {}
    if !client.0.is_complete() || !server.0.is_complete() {
        return Err(Error::Configuration("the handshake is not complete"));
    }
    for (count, name) in [(client.1, "client"), (server.1, "server")] {
        count.print(name);
    }
    Ok(())
}

/// Gives an end all messages that the other has sent; returns whether there were any.
fn deliver<H: Handshake>(
    from: &mut Count<'_>,
    (core, at): &mut (&mut Core<H>, Count<'_>),
) -> Result<bool, Error> {
    let mut had_any = false;
    while let Some((epoch, message)) = from.sent.next() {
        had_any = true;
        at.step(Some(message.typ), |below| core.message(epoch, message, ends::NOW, below))?;
        // Its events are of sessions, and of the end of the handshake.
        while core.event().is_some() {}
    }
    Ok(had_any)
}

/// What an end has sent: outside its heap, which is measured.
struct Sent {
    bytes: [u8; 16 * 1024],
    len: usize,
    /// What the peer has read of it.
    read: usize,
    epochs: [(Epoch, usize); MOST],
    count: usize,
}

/// More messages than an end sends.
const MOST: usize = 8;

impl Sent {
    const fn new() -> Self {
        Self { bytes: [0; _], len: 0, read: 0, epochs: [(Epoch::Initial, 0); _], count: 0 }
    }

    fn push(&mut self, epoch: Epoch, message: &[u8]) {
        self.epochs[self.count] = (epoch, self.len);
        self.count += 1;
        self.bytes[self.len..][..message.len()].copy_from_slice(message);
        self.len += message.len();
    }

    fn next(&mut self) -> Option<(Epoch, HandshakeMessage<'_>)> {
        let at = self.read;
        let (epoch, _) = self.epochs[..self.count].iter().find(|(_, begin)| *begin == at)?;
        let message = HandshakeMessage::split_from(&self.bytes[at..self.len])?;
        self.read += message.bytes.len();
        Some((*epoch, message))
    }
}

/// Counts what an end takes from one message that it sends to the next. What is done between two calls of [`Below::send`]
/// is the second message's; until keys are installed after a message, and until the step's end, it is still that message's.
struct Count<'s> {
    side: Side,
    sent: &'s mut Sent,
    meter: Meter,
    rows: [Row; MOST],
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct Row {
    read: Option<HandshakeType>,
    sent: Option<HandshakeType>,
    instructions: u64,
    stack: usize,
    heap: usize,
}

impl<'s> Count<'s> {
    fn new(side: Side, sent: &'s mut Sent) -> Self {
        Self { side, sent, meter: Meter::default(), rows: [Row::default(); _], count: 0 }
    }

    /// Runs a step that this message begins, or the start of a client.
    fn step<R>(&mut self, read: Option<HandshakeType>, step: impl FnOnce(&mut Self) -> R) -> R {
        heap::switch_to(self.side);
        heap::restart_peak(self.side);
        self.rows[self.count].read = read;
        self.count += 1;
        self.meter = Meter::start();
        let result = call(|| step(self));
        self.lap();
        result
    }

    /// Adds what was taken since the last call to the newest row.
    #[inline(never)]
    fn lap(&mut self) {
        let (instructions, stack) = self.meter.lap();
        let row = &mut self.rows[self.count - 1];
        row.instructions += instructions;
        row.stack = row.stack.max(stack);
        row.heap = row.heap.max(heap::usage(self.side).peak);
        heap::restart_peak(self.side);
        self.meter.go_on();
    }

    fn print(&self, side: &str) {
        for row in &self.rows[..self.count] {
            hprint!("message {} ", side);
            match (row.read.map(name), row.sent.map(name)) {
                (Some(read), Some(sent)) => hprint!("reads {}, writes {}", read, sent),
                (Some(read), None) => hprint!("reads {}", read),
                (None, Some(sent)) => hprint!("writes {}", sent),
                (None, None) => (),
            }
            let Row { instructions, stack, heap, .. } = row;
            hprintln!(" instructions {} stack {} heap {}", instructions, stack, heap);
        }
    }
}

fn name(typ: HandshakeType) -> &'static str {
    match typ {
        HandshakeType::CLIENT_HELLO => "ClientHello",
        HandshakeType::SERVER_HELLO => "ServerHello",
        HandshakeType::ENCRYPTED_EXTENSIONS => "EncryptedExtensions",
        HandshakeType::CERTIFICATE => "Certificate",
        HandshakeType::COMPRESSED_CERTIFICATE => "CompressedCertificate",
        HandshakeType::CERTIFICATE_VERIFY => "CertificateVerify",
        HandshakeType::FINISHED => "Finished",
        _ => "other",
    }
}

impl Below for Count<'_> {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        if self.rows[self.count - 1].sent.is_some() {
            self.count += 1;
        }
        self.rows[self.count - 1].sent = message.first().copied().map(HandshakeType);
        self.lap();
        self.sent.push(epoch, message);
        self.meter.go_on();
    }

    fn flight_ended(&self) -> Result<(), Error> {
        Ok(())
    }

    fn install(
        &mut self,
        _: Direction,
        _: Epoch,
        _: &'static Suite,
        _: TrafficSecret<'_>,
    ) -> Result<(), Error> {
        self.lap();
        Ok(())
    }

    fn update(&mut self, _: &[u8], _: &'static Suite, _: TrafficSecret<'_>) {}

    fn withdraw_early_data(&mut self) {}

    fn limit(&mut self, _: Limit) {}
}
