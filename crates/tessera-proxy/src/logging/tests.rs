use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use governor::Quota;
use tracing::subscriber::with_default;
use tracing::{debug, error, info, warn};

use super::*;

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// Returns the lines, each without its time.
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{text}");
        let without_time = |line: &str| match line.strip_prefix("{\"timestamp\":\"") {
            Some(rest) => {
                let (time, rest) = rest.split_once("\",").expect(line);
                assert!(time.ends_with('Z'), "{line}");
                format!("{{{rest}")
            }
            None => {
                let (time, rest) = line.split_once(' ').expect(line);
                assert!(time.ends_with('Z'), "{line}");
                rest.trim_start().to_owned()
            }
        };
        text.lines().map(without_time).collect()
    }
}

impl Write for Memory {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the lines that `write` logs, with `burst` lines allowed for each place.
fn lines(options: LogOptions, burst: u32, write: impl FnOnce()) -> (Vec<String>, Log) {
    let memory = Memory::default();
    // The limit doesn't recover while a test runs.
    let hour = Duration::from_secs(3600);
    let quota = Quota::with_period(hour).unwrap().allow_burst(NonZeroU32::new(burst).unwrap());
    let (log, subscriber) = log_within(memory.clone(), options, Limits::with_quota(quota)).unwrap();
    with_default(subscriber, write);
    log.sink.finish(Duration::from_secs(60));
    (memory.lines(), log)
}

const TEXT: LogFormat = LogFormat::Text;
const JSON: LogFormat = LogFormat::Json;

/// Input of a peer that tries to forge a line.
const EVIL: &str = "a\n2026-01-01T00:00:00Z  INFO forged\u{1b}[2J\" x=1";

#[test]
fn an_event_is_one_line_of_text_whatever_is_in_it() {
    let (lines, _) = lines(LogOptions::new(TEXT), 10, || {
        info!(peer = "192.0.2.1:5", count = 3, early = true, none = "", "a connection ended");
        warn!(name = EVIL, other = %EVIL, debug = ?"b c", "of {EVIL}");
        error!(error = %io::Error::other("x=y"), "it broke");
        debug!("not at this level");
    });
    let expected = [
        r#"INFO a connection ended peer=192.0.2.1:5 count=3 early=true none="""#,
        "WARN of a\\n2026-01-01T00:00:00Z  INFO forged\\u{1b}[2J\" x=1 \
         name=\"a\\n2026-01-01T00:00:00Z  INFO forged\\u{1b}[2J\\\" x=1\" \
         other=\"a\\n2026-01-01T00:00:00Z  INFO forged\\u{1b}[2J\\\" x=1\" debug=\"\\\"b c\\\"\"",
        r#"ERROR it broke error="x=y""#,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_event_is_one_object_whatever_is_in_it() {
    let (lines, _) = lines(LogOptions::new(JSON), 10, || {
        info!(target: TRUSTED, peer = %"192.0.2.1:5", count = 3, early = true, "ended");
        warn!(name = EVIL, "of {EVIL}");
    });
    let expected = [
        r#"{"level":"INFO","message":"ended","peer":"192.0.2.1:5","count":3,"early":true,"target":"tessera::trusted"}"#,
        "{\"level\":\"WARN\",\
         \"message\":\"of a\\n2026-01-01T00:00:00Z  INFO forged\\u001b[2J\\\" x=1\",\
         \"name\":\"a\\n2026-01-01T00:00:00Z  INFO forged\\u001b[2J\\\" x=1\",\
         \"target\":\"tessera_proxy::logging::tests\"}",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn levels_choose_the_lines() {
    let count = |level| {
        let options = LogOptions { level, ..LogOptions::new(JSON) };
        let write = || {
            error!("a");
            warn!("a");
            info!("a");
            debug!("a");
            tracing::trace!("a");
        };
        lines(options, 10, write).0.len()
    };
    let levels =
        [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace];
    assert_eq!(levels.map(count), [1, 2, 3, 4, 5]);
}

#[test]
fn too_many_lines_of_one_place_are_left_out_and_counted_and_those_of_others_are_not() {
    let (lines, log) = lines(LogOptions::new(TEXT), 3, || {
        for number in 0..1000 {
            info!(number, "a failed handshake");
            if number % 500 == 0 {
                info!("of another place");
            }
            info!(target: TRUSTED, "of a known peer");
        }
    });
    let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!((count("failed handshake"), count("another place")), (3, 2));
    assert_eq!((count("known peer"), lines.len()), (1000, 1005));
    assert_eq!((log.limits.left_out(), log.sink.lost()), (997, 0));
}

#[test]
fn when_writing_resumes_the_log_states_how_many_lines_were_left_out() {
    for format in [TEXT, JSON] {
        let memory = Memory::default();
        let quota = Quota::with_period(Duration::from_millis(1)).unwrap();
        let limits = Limits::with_quota(quota);
        let (log, subscriber) =
            log_within(memory.clone(), LogOptions::new(format), limits).unwrap();
        let mut written = 0;
        with_default(subscriber, || {
            // Until the place may write again.
            while log.limits.left_out() == 0
                || !memory.lines().iter().any(|line| line.contains("left out"))
            {
                info!("again");
                written += 1;
                log.sink.settle();
            }
        });
        let lines = memory.lines();
        let told = lines.iter().filter(|line| line.contains("left out"));
        let name = match format {
            LogFormat::Text => "left_out=",
            LogFormat::Json => "\"left_out\":",
        };
        let told: u64 = told
            .map(|line| {
                assert!(line.contains("tessera_proxy::logging::tests:"), "{line}");
                let rest = line.split_once(name).expect(line).1;
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
                rest[..digits].parse::<u64>().unwrap()
            })
            .sum();
        let again = lines.iter().filter(|line| line.contains("again")).count() as u64;
        assert_eq!((told, again + told), (log.limits.left_out(), written));
    }
}

#[test]
fn left_out_lines_are_reported_once_a_second() {
    let memory = Memory::default();
    let limits = Limits::with_quota(Quota::with_period(Duration::from_millis(1)).unwrap());
    let (log, subscriber) = log_within(memory.clone(), LogOptions::new(TEXT), limits).unwrap();
    let count = |what: &str| memory.lines().iter().filter(|line| line.contains(what)).count();
    let began = Instant::now();
    with_default(subscriber, || {
        // The place may write again, and again.
        while count("again") < 50 {
            (0..10).for_each(|_| info!("again"));
            log.sink.settle();
        }
    });
    assert!(log.limits.left_out() > 0);
    let told = count("left out");
    assert!(told >= 1 && told as u64 <= 1 + began.elapsed().as_secs(), "{told}");
}

/// A reader that takes lines at its own pace.
struct SlowReader(SyncSender<Vec<u8>>);

impl Write for SlowReader {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let sent = self.0.send(line.to_vec());
        sent.map(|()| line.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn slow(format: LogFormat) -> (Log, impl Subscriber + Send + Sync, Receiver<Vec<u8>>) {
    let (sender, reader) = sync_channel(0);
    let (log, subscriber) = log_to(SlowReader(sender), LogOptions::new(format)).unwrap();
    (log, subscriber, reader)
}

#[test]
fn a_reader_that_stops_reading_delays_no_one_and_its_missed_lines_are_counted() {
    for (format, name) in [(TEXT, "lost="), (JSON, "\"lost\":")] {
        let (log, subscriber, reader) = slow(format);
        let value = "x".repeat(1000);
        with_default(subscriber, || {
            (0..5000).for_each(|number| info!(target: TRUSTED, number, value, "a line"));
        });
        // A MiB is queued, and a line or two are with the writer.
        let lost = log.sink.lost();
        assert!((3500..4500).contains(&lost), "{lost}");
        let metrics = Metrics::new();
        log.register(&metrics);
        assert!(metrics.text().contains(&format!("\ntessera_log_lines_lost_total {lost}\n")));
        // The reader returns, and reads what is queued.
        let reading = std::thread::spawn(move || reader.iter().collect::<Vec<_>>());
        log.sink.finish(Duration::from_secs(60));
        drop(log);
        let lines = reading.join().unwrap();
        let last = String::from_utf8(lines.last().unwrap().clone()).unwrap();
        assert!(last.contains(&format!("{name}{lost}")), "{last}");
        assert_eq!(lines.len() as u64, 5000 - lost + 1);
    }
}

#[test]
fn a_reader_that_is_gone_is_no_obstacle_and_what_it_misses_is_counted() {
    let (log, subscriber, reader) = slow(JSON);
    drop(reader);
    with_default(subscriber, || {
        (0..5000).for_each(|number| info!(target: TRUSTED, number, "a line"));
    });
    log.finish();
    assert_eq!(log.sink.lost(), 5000);
}
