//! The dump of a process.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;

use zeroize::Zeroizing;

use super::mappings::{self, Code, Mapping, Place, Thread};

/// The memory of a process, to be read at any time later.
#[derive(Debug)]
pub struct ProcessMemory {
    process: u32,
    maps: File,
    memory: File,
}

impl ProcessMemory {
    /// Opens that of the process with this number.
    ///
    /// # Errors
    /// If there is none, or it may not be read: a process that forbids it needs root (CAP_SYS_PTRACE).
    pub fn open(process: u32) -> io::Result<Self> {
        let file = |name| File::open(format!("/proc/{process}/{name}"));
        Ok(Self { process, maps: file("maps")?, memory: file("mem")? })
    }

    /// Opens that of this process.
    ///
    /// What is opened before the process forbids it stays open.
    ///
    /// # Errors
    /// If the system doesn't support it.
    pub fn of_this_process() -> io::Result<Self> {
        Self::open(std::process::id())
    }

    /// Reads all writable memory: heaps, the stacks of all threads, variables.
    ///
    /// The process should be stopped meanwhile.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn read(&mut self) -> io::Result<Snapshot> {
        let mut maps = String::new();
        self.maps.rewind()?;
        self.maps.read_to_string(&mut maps)?;
        let mappings = mappings::writable(&maps);
        let threads = mappings::threads(self.process)?;
        let mut segments = Vec::new();
        for mapping in &mappings {
            self.read_mapping(mapping, &mut segments);
        }
        if segments.is_empty() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "nothing could be read"));
        }
        Ok(Snapshot { segments, mappings, threads, code: mappings::code(&maps) })
    }

    /// Reads the non-zero parts of a mapping.
    fn read_mapping(&self, mapping: &Mapping, segments: &mut Vec<Segment>) {
        let mut part = Zeroizing::new(vec![0; PART]);
        let mut at = mapping.start;
        let mut run: Option<Segment> = None;
        while at < mapping.end {
            let len = PART.min((mapping.end - at) as usize);
            // Devices, and memory that was unmapped meanwhile.
            let Ok(read @ 1..) = self.memory.read_at(&mut part[..len], at) else {
                at += PAGE as u64;
                segments.extend(run.take());
                continue;
            };
            for page in part[..read].chunks(PAGE) {
                if page.iter().all(|byte| *byte == 0) {
                    segments.extend(run.take());
                } else {
                    let fresh = || Segment { address: at, bytes: Zeroizing::default() };
                    run.get_or_insert_with(fresh).bytes.extend_from_slice(page);
                }
                at += page.len() as u64;
            }
        }
        segments.extend(run);
    }
}

/// The contents of a process's writable memory at one moment.
pub struct Snapshot {
    pub(super) segments: Vec<Segment>,
    mappings: Vec<Mapping>,
    threads: Vec<Thread>,
    code: Vec<Code>,
}

/// Neighbouring pages that aren't all zeros.
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) bytes: Zeroizing<Vec<u8>>,
}

impl Snapshot {
    /// Returns the region of an address.
    #[must_use]
    pub fn place(&self, address: u64) -> Place {
        Place::of(address, &self.mappings, &self.threads)
    }

    /// Returns the return addresses near an address of a stack, above it, with their distances from it in bytes: they
    /// show whose frames were there.
    #[must_use]
    pub fn callers(&self, address: u64) -> Vec<(u64, String)> {
        let first = address & !7;
        let words = (first..first + FRAMES).step_by(8);
        let callers = words.filter_map(|at| {
            let caller = mappings::in_code(self.word(at)?, &self.code)?;
            Some((at - first, caller))
        });
        callers.take(CALLERS).collect()
    }

    fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address, 8)?.first_chunk().map(|word| u64::from_ne_bytes(*word))
    }

    /// Returns the bytes at an address; `None` if not all of them were read.
    #[must_use]
    pub fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        let at = self.segments.partition_point(|it| it.address <= address).checked_sub(1)?;
        let segment = self.segments.get(at)?;
        segment.bytes.get((address - segment.address) as usize..)?.get(..len)
    }

    /// Returns the threads that the process had.
    #[must_use]
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Returns how many bytes were read that aren't in pages of zeros.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes.len()).sum()
    }

    /// Whether there was nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

/// How far to search for return addresses, in bytes, and how many to report.
const FRAMES: u64 = 4096;
const CALLERS: usize = 6;

/// How much is read at once, in bytes.
const PART: usize = 1 << 20;

/// Smaller than any page, or as large.
const PAGE: usize = 4096;
