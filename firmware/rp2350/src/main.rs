//! A client on WIZnet's W5500-EVB-Pico2 (RP2350A, 2 MiB of flash, Ethernet), with embassy.
//!
//! NOT RUN ON HARDWARE: `scripts/rp2350` builds it, nothing more.
//!
//! Every ten seconds it connects to a server that it shares a PSK with, sends a line, and waits for one. Sessions are kept in
//! the last two sectors of the flash.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use core::cell::RefCell;
use core::net::Ipv4Addr;

use embassy_executor::Spawner;
use embassy_net::tcp::TcpSocket;
use embassy_net::{Config, Stack, StackResources};
use embassy_net_wiznet::chip::W5500;
use embassy_net_wiznet::{Device, Runner, State};
use embassy_rp::flash::{Blocking, Flash};
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, FLASH, SPI0, TRNG};
use embassy_rp::spi::{Async, Spi};
use embassy_rp::trng::Trng;
use embassy_rp::{bind_interrupts, dma, spi, trng};
use embassy_sync::blocking_mutex::CriticalSectionMutex;
use embassy_time::{Delay, Duration, Instant, Timer, with_timeout};
use embedded_alloc::LlffHeap;
use embedded_hal_bus::spi::ExclusiveDevice;
use embedded_io_async::{Read, Write};
use panic_halt as _;
use static_cell::StaticCell;
use tessera::auth::NoCertificates;
use tessera::crypto::{Provider, RandomFailed};
use tessera::resume::ExternalPsk;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{ClientConfig, Clock, Destination, Limits, Time};
use tessera_embedded::{Buffers, Connector, SessionStorage, input_len, output_len};
use tessera_rustcrypto::RandomSource;

/// The server: an example's address (RFC 5737).
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 4433);

/// Public, and so it protects nothing: a device gets its own when it is made.
const PSK: (&[u8], [u8; 32]) = (b"device", [7; 32]);

/// The longest record that the device receives, in bytes.
const RECORD: u16 = 2048;

const FLASH_LEN: usize = 2 * 1024 * 1024;

/// What `memory.x` leaves for sessions.
const SESSIONS: core::ops::Range<u32> = FLASH_LEN as u32 - 8 * 1024..FLASH_LEN as u32;

bind_interrupts!(struct Irqs {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
    TRNG_IRQ => trng::InterruptHandler<TRNG>;
});

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

type Generator = Trng<'static, TRNG>;

static GENERATOR: CriticalSectionMutex<RefCell<Option<Generator>>> =
    CriticalSectionMutex::new(RefCell::new(None));

/// The chip's generator of random bytes.
struct Chip;

impl RandomSource for Chip {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        GENERATOR.lock(|generator| match &mut *generator.borrow_mut() {
            Some(generator) => {
                generator.blocking_fill_bytes(out);
                Ok(())
            }
            None => Err(RandomFailed),
        })
    }
}

static PROVIDER: Provider = tessera_rustcrypto::provider::<Chip>();

/// The time since the start: the board has no date.
#[derive(Debug)]
struct Uptime;

impl Clock for Uptime {
    fn now(&self) -> Time {
        let monotonic = core::time::Duration::from_micros(Instant::now().as_micros());
        Time { monotonic, unix: None }
    }
}

type Ethernet = Runner<
    'static,
    W5500,
    ExclusiveDevice<Spi<'static, SPI0, Async>, Output<'static>, Delay>,
    Input<'static>,
    Output<'static>,
>;

#[embassy_executor::task]
async fn run_ethernet(runner: Ethernet) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn run_network(mut runner: embassy_net::Runner<'static, Device<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    start_heap();
    let chip = embassy_rp::init(embassy_rp::config::Config::default());
    let generator = Trng::new(chip.TRNG, Irqs, trng::Config::default());
    GENERATOR.lock(|place| place.borrow_mut().replace(generator));

    let mut config = spi::Config::default();
    config.frequency = 50_000_000;
    let bus = Spi::new(
        chip.SPI0,
        chip.PIN_18,
        chip.PIN_19,
        chip.PIN_16,
        chip.DMA_CH0,
        chip.DMA_CH1,
        Irqs,
        config,
    );
    let Ok(device) = ExclusiveDevice::new(bus, Output::new(chip.PIN_17, Level::High), Delay);
    let interrupt = Input::new(chip.PIN_21, Pull::Up);
    let reset = Output::new(chip.PIN_20, Level::High);
    static STATE: StaticCell<State<8, 8>> = StaticCell::new();
    // Of the range for documentation (RFC 7042).
    let address = [0x00, 0x00, 0x5e, 0x00, 0x53, 0x01];
    let state = STATE.init(State::new());
    let (driver, ethernet) = embassy_net_wiznet::new(address, state, device, interrupt, reset)
        .await
        .expect("the Ethernet chip answers");
    spawner.spawn(run_ethernet(ethernet).expect("it is spawned once"));

    static RESOURCES: StaticCell<StackResources<3>> = StaticCell::new();
    let mut seed = [0; 8];
    Chip::fill(&mut seed).expect("the generator was set");
    let resources = RESOURCES.init(StackResources::new());
    let config = Config::dhcpv4(Default::default());
    let (network, runner) = embassy_net::new(driver, config, resources, u64::from_ne_bytes(seed));
    spawner.spawn(run_network(runner).expect("it is spawned once"));
    network.wait_config_up().await;

    let flash = Flash::<'static, FLASH, Blocking, FLASH_LEN>::new_blocking(chip.FLASH);
    let sessions = SessionStorage::new(flash, SESSIONS, 4, [0; 800]).expect("they fit");
    let connector = Connector::new(client(), Arc::new(Uptime)).with_sessions(Arc::new(sessions));
    loop {
        // What failed is tried again.
        let _ = with_timeout(Duration::from_secs(20), converse(network, &connector)).await;
        Timer::after_secs(10).await;
    }
}

fn client() -> tessera::handshake::Checked<ClientConfig> {
    let mut config = ClientConfig::new(PROVIDER, Arc::new(NoCertificates));
    config.groups = vec![NamedGroup::X25519MLKEM768, NamedGroup::X25519];
    config.record_size_limit = Some(RECORD);
    // A connection starts where the heap has what follows from groups and limits.
    config.limits = Limits {
        handshake_message: 2048,
        certificate_message: 2048,
        tickets: 1,
        ..Limits::default()
    };
    config.checked().expect("it is the same in every build")
}

/// Connects, sends a line, waits for the answer, and closes. If its future is dropped, so is the connection.
async fn converse(network: Stack<'static>, connector: &Connector) -> Option<()> {
    let (mut received, mut sent) = ([0; 1536], [0; 1536]);
    let mut socket = TcpSocket::new(network, &mut received, &mut sent);
    socket.connect(SERVER).await.ok()?;
    let (mut input, mut output) = ([0; input_len(RECORD)], [0; output_len(512)]);
    let buffers = Buffers { input: &mut input, output: &mut output };
    let suite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
    let psk = ExternalPsk::new(PSK.0.to_vec(), PSK.1.to_vec().into(), suite);
    let destination = Destination {
        server_name: "server.example".into(),
        external_psks: vec![psk],
        ..Destination::default()
    };
    let mut stream = connector.connect(destination, &mut socket, buffers).await.ok()?;
    stream.write_all(b"from the device\n").await.ok()?;
    stream.read(&mut [0; 64]).await.ok()?;
    stream.close().await.ok()
}

/// Room for what `heap_needed` returns for a connection by PSK with the longest session: with less, the connection would go
/// without the session.
fn start_heap() {
    static MEMORY: StaticCell<[u8; 64 * 1024]> = StaticCell::new();
    let memory = MEMORY.init([0; 64 * 1024]);
    // SAFETY: once, before anything is allocated, and the memory is used here alone.
    unsafe { HEAP.init(memory.as_mut_ptr() as usize, memory.len()) };
}
