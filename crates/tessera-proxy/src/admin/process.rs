//! The metrics of every process, named as in Prometheus' client libraries.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Linux's data about this process. Its files are opened once: a confined process could not open them later.
#[derive(Debug)]
pub(super) struct Process {
    started: SystemTime,
    stat: Option<File>,
    status: Option<File>,
    limits: Option<File>,
}

impl Process {
    pub(super) fn new() -> Self {
        let open = |name| File::open(format!("/proc/self/{name}")).ok();
        let (stat, status, limits) = (open("stat"), open("status"), open("limits"));
        Self { started: SystemTime::now(), stat, status, limits }
    }

    /// Returns the processor time, user and system, in seconds.
    fn processor_seconds(&self) -> Option<f64> {
        let stat = text(self.stat.as_ref()?)?;
        // proc_pid_stat(5): the name, in parentheses, may contain anything. utime and stime are the fields 14 and 15.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        // sysconf(_SC_CLK_TCK) is USER_HZ, 100 on every architecture that Rust runs on.
        Some((ticks()? + ticks()?) / 100.0)
    }

    /// Returns a value of `status`, in bytes or as a count.
    fn status(&self, name: &str) -> Option<u64> {
        let status = text(self.status.as_ref()?)?;
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let mut words = value.split_whitespace();
        let number: u64 = words.next()?.parse().ok()?;
        Some(if words.next() == Some("kB") { number * 1024 } else { number })
    }

    fn most_files(&self) -> Option<u64> {
        let limits = text(self.limits.as_ref()?)?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

/// Since Linux 6.2 the size of the directory is the number of open files; before, they must be listed.
fn open_files() -> Option<u64> {
    match fs::metadata("/proc/self/fd").ok()?.len() {
        // One of them is the listing itself.
        0 => Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1)),
        count => Some(count),
    }
}

/// Reads a file of /proc from its beginning, which regenerates it.
fn text(file: &File) -> Option<String> {
    let mut buffer = vec![0; 8 * 1024];
    let count = file.read_at(&mut buffer, 0).ok()?;
    buffer.truncate(count);
    String::from_utf8(buffer).ok()
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let mut tell = |name: &str, help: &str, unit: Option<Unit>, value: &dyn EncodeMetric| {
            let metric_type = value.metric_type();
            value.encode(encoder.encode_descriptor(name, help, unit.as_ref(), metric_type)?)
        };
        let (seconds, bytes) = (Some(Unit::Seconds), Some(Unit::Bytes));
        let since = "When the process started counting, as Unix time.";
        tell("process_start_time", since, seconds.clone(), &ConstGauge::new(started))?;
        if let Some(spent) = self.processor_seconds() {
            let help = "Processor time spent, in user and kernel mode.";
            tell("process_cpu", help, seconds, &ConstCounter::new(spent))?;
        }
        let mut gauge = |name: &str, help: &str, unit: Option<Unit>, value: Option<u64>| {
            value.map_or(Ok(()), |value| tell(name, help, unit, &ConstGauge::new(value)))
        };
        let resident = self.status("VmRSS");
        gauge("process_resident_memory", "Resident memory.", bytes.clone(), resident)?;
        gauge("process_virtual_memory", "Address space.", bytes, self.status("VmSize"))?;
        gauge("process_threads", "Threads.", None, self.status("Threads"))?;
        gauge("process_open_fds", "Open files and sockets.", None, open_files())?;
        gauge("process_max_fds", "How many files and sockets may be open.", None, self.most_files())
    }
}
