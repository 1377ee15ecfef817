//! `tessera stek` as a process that tests start, kill and query.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use tessera_test_peers::{Clock, Directory, free_port};

use crate::servers::Pki;

/// A sidecar with its files, running or not.
pub struct Sidecar {
    program: &'static str,
    directory: Directory,
    file: String,
    /// The one of its host; the machine's by default.
    clock: Option<Clock>,
    process: Option<Child>,
}

impl Sidecar {
    /// Writes the configuration of a sidecar. `store` is the part of `[ring]` that names the store, `servers` the sections of
    /// its servers; `{dir}` in both stands for a directory of its own. `program` is the one of this package.
    #[must_use]
    pub fn new(program: &'static str, name: &str, store: &str, servers: &str) -> Self {
        let directory = Directory::new();
        for inner in ["key", "cache"] {
            let inner = directory.path(inner);
            fs::create_dir(&inner).unwrap();
            fs::set_permissions(inner, Permissions::from_mode(0o700)).unwrap();
        }
        let key = directory.path("key/ring.key");
        fs::write(&key, "0123456789abcdef".repeat(4)).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let text = format!(
            "[process]\nadmin = \"unix:{{dir}}/admin.sock\"\n[ring]\nkey = \"{key}\"\nmember = \"{name}\"\n\
             cache = \"{{dir}}/cache/ring\"\nclock-skew = \"1s\"\n{store}\n{servers}\n"
        );
        let own = directory.path("");
        let file = directory.write("stek.toml", text.replace("{dir}/", &own));
        Self { program, directory, file, clock: None, process: None }
    }

    /// Sets how much it expects clocks to differ, instead of a second.
    pub fn set_clock_skew(&self, skew: &str) {
        let settings = fs::read_to_string(&self.file).unwrap();
        let setting = |skew| format!("clock-skew = \"{skew}\"");
        fs::write(&self.file, settings.replace(&setting("1s"), &setting(skew))).unwrap();
    }

    /// Sets the clock of its host.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// Starts it.
    pub fn start(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.log_path()).unwrap();
        let mut command = self.command("run");
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let process = process.unwrap();
        if let Some(clock) = &self.clock {
            clock.serves(process.id());
        }
        self.process = Some(process);
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Runs another task with its configuration, to the end.
    #[must_use]
    pub fn task(&self, task: &str) -> Output {
        self.command(task).output().unwrap()
    }

    fn command(&self, task: &str) -> Command {
        let words = self.clock.iter().flat_map(Clock::words);
        let mut words = words.chain([self.program.into()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args([task, &self.file]);
        command
    }

    /// Whether `status` ends with 0.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.task("status").status.success()
    }

    /// Returns what its admin port serves at `/metrics`; nothing before it serves.
    #[must_use]
    pub fn metrics(&self) -> String {
        let read = || {
            let mut admin = UnixStream::connect(self.directory.path("admin.sock"))?;
            admin.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
            io::read_to_string(admin)
        };
        read().unwrap_or_default()
    }

    /// Returns its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.directory.as_path().join("log")
    }

    /// Counts how often each of these texts, of at least eight bytes, occurs in its writable memory.
    #[must_use]
    pub fn count_in_memory(&self, texts: &[&[u8]]) -> Vec<usize> {
        let id = self.process.as_ref().unwrap().id();
        let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
        let mut memory = fs::File::open(format!("/proc/{id}/mem")).unwrap();
        let mut counts = vec![0; texts.len()];
        for line in maps.lines().filter(|line| line.contains(" rw")) {
            // A region may go away meanwhile.
            let Ok(contents) = region(&mut memory, line) else { continue };
            counts.iter_mut().zip(count(&contents, texts)).for_each(|(sum, more)| *sum += more);
        }
        counts
    }
}

/// Returns the settings of two sidecars with one store, in a file of the first one, which the other reaches by mutual TLS;
/// and those of a third without a certificate, which is refused. `ca` and the other files are in `files`.
#[must_use]
pub fn shared_file(pki: &Pki, files: &Directory, ca: &str) -> [String; 3] {
    let own = pki.authority.issue("sidecar.example");
    let certificate = files.write_private("sidecar.pem", own.both_pem());
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let serve = format!(
        "file = \"{{dir}}/cache/store\"\nserve = {{ listen = \"{address}\", certificate = \"{certificate}\", ca = \
         \"{ca}\" }}"
    );
    let reach = |certificate: &str| {
        format!(
            "etcd = {{ endpoints = [\"{address}\"], ca = \"{ca}\", server-name = \"sidecar.example\"{certificate} }}"
        )
    };
    [serve, reach(&format!(", certificate = \"{certificate}\"")), reach("")]
}

/// Counts how often each of these texts, of at least eight bytes, occurs, in one pass.
#[must_use]
pub fn count(contents: &[u8], texts: &[&[u8]]) -> Vec<usize> {
    let mut counts = vec![0; texts.len()];
    let begins: HashMap<&[u8], usize> =
        texts.iter().enumerate().map(|(at, text)| (&text[..8], at)).collect();
    let mut is_first = [false; 256];
    texts.iter().for_each(|text| is_first[usize::from(text[0])] = true);
    // Most of a preallocated file is empty.
    let end = contents.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    for (at, first) in contents[..end].iter().enumerate() {
        if is_first[usize::from(*first)]
            && let Some(begin) = contents.get(at..at + 8)
            && let Some(text) = begins.get(begin)
            && contents[at..].starts_with(texts[*text])
        {
            counts[*text] += 1;
        }
    }
    counts
}

fn region(memory: &mut fs::File, line: &str) -> io::Result<Vec<u8>> {
    let range = line.split(' ').next().unwrap_or_default();
    let (from, to) = range.split_once('-').unwrap_or_default();
    let number = |hex| u64::from_str_radix(hex, 16).map_err(io::Error::other);
    let (from, to) = (number(from)?, number(to)?);
    memory.seek(SeekFrom::Start(from))?;
    let mut contents = vec![0; usize::try_from(to - from).map_err(io::Error::other)?];
    memory.read_exact(&mut contents)?;
    Ok(contents)
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        self.kill();
    }
}
