//! Where things are in the memory of a process (proc_pid_maps(5)).

use std::fmt;
use std::fs;
use std::io;

/// A part of the address space that can be written.
#[derive(Debug, Clone)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// As the kernel names it: a file, `[heap]`, or nothing.
    name: String,
}

/// Returns all mappings that can be read and written, from the kernel's list.
pub(super) fn writable(maps: &str) -> Vec<Mapping> {
    let writable = maps.lines().filter(|line| line.contains(" rw"));
    writable.filter_map(read).collect()
}

fn read(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let [start, end] = [start, end].map(|it| u64::from_str_radix(it, 16));
    let name = words.nth(4).unwrap_or_default().to_owned();
    Some(Mapping { start: start.ok()?, end: end.ok()?, name })
}

/// Where the code of a program or library is.
#[derive(Debug, Clone)]
pub(super) struct Code {
    mapping: Mapping,
    /// Where the file's first byte is.
    base: u64,
}

/// Returns all code, from the kernel's list of mappings.
pub(super) fn code(maps: &str) -> Vec<Code> {
    let of_name = |name: &str| maps.lines().find(|line| line.ends_with(name));
    let code = maps.lines().filter(|line| line.split(' ').nth(1) == Some("r-xp"));
    code.filter_map(|line| {
        let mapping = read(line)?;
        let base = read(of_name(&mapping.name)?)?.start;
        mapping.name.starts_with('/').then_some(Code { mapping, base })
    })
    .collect()
}

/// Returns an address in code as debuggers expect it: the file, and the offset from its beginning.
pub(super) fn in_code(address: u64, code: &[Code]) -> Option<String> {
    let code = code.iter().find(|it| (it.mapping.start..it.mapping.end).contains(&address))?;
    let file = code.mapping.name.rsplit('/').next()?;
    Some(format!("{file}+{:#x}", address - code.base))
}

/// A thread, and how deep its stack is.
#[derive(Debug, Clone)]
pub struct Thread {
    /// The kernel's number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The stack pointer, if the kernel reports it: of threads that wait.
    pub stack_pointer: Option<u64>,
}

/// Returns the threads of a process, in the order of their numbers.
pub(super) fn threads(process: u32) -> io::Result<Vec<Thread>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/task"))?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        // The number of a system call, its six arguments, stack pointer, program counter.
        let call = fs::read_to_string(entry.path().join("syscall")).unwrap_or_default();
        let stack_pointer = call.split_ascii_whitespace().rev().nth(1);
        let stack_pointer = stack_pointer.and_then(|it| it.strip_prefix("0x"));
        threads.push(Thread {
            id,
            name: name.trim_end().to_owned(),
            stack_pointer: stack_pointer.and_then(|it| u64::from_str_radix(it, 16).ok()),
        });
    }
    threads.sort_unstable_by_key(|thread| thread.id);
    Ok(threads)
}

/// The region of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The stack of a thread.
    Stack {
        /// Which thread, counted from zero.
        thread: usize,
        /// Its name.
        name: String,
        /// How far below the stack pointer it is, in bytes: below is what returned calls left over. Negative above it,
        /// in the part in use.
        below: i64,
    },
    /// Memory that an allocator manages.
    Heap,
    /// The variables of a program or library.
    Data(String),
}

impl Place {
    pub(super) fn of(address: u64, mappings: &[Mapping], threads: &[Thread]) -> Self {
        let mapping = mappings.iter().find(|it| (it.start..it.end).contains(&address));
        let Some(mapping) = mapping else { return Self::Heap };
        let below = |thread: &Thread| {
            let pointer = thread.stack_pointer?;
            let is_here = (mapping.start..mapping.end).contains(&pointer);
            is_here.then(|| pointer as i64 - address as i64)
        };
        let on_stack = threads.iter().enumerate().filter_map(|(at, it)| Some((at, it, below(it)?)));
        if let Some((thread, Thread { name, .. }, below)) =
            on_stack.min_by_key(|(_, _, below)| below.unsigned_abs())
        {
            return Self::Stack { thread, name: name.clone(), below };
        }
        if mapping.name.starts_with('/') {
            return Self::Data(mapping.name.clone());
        }
        Self::Heap
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack { thread, name, below } if *below >= 0 => {
                write!(f, "stack of thread {thread} ({name}), {below} below its pointer")
            }
            Self::Stack { thread, name, below } => {
                write!(f, "stack of thread {thread} ({name}), {} above its pointer", -below)
            }
            Self::Heap => f.write_str("heap"),
            Self::Data(file) => write!(f, "data of {}", file.rsplit('/').next().unwrap_or(file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_on_the_stack_of_a_thread_on_the_heap_or_in_data() {
        let maps = "\
1000-2000 r-xp 00000000 fe:00 12 /usr/bin/program
2000-3000 rw-p 00001000 fe:00 12 /usr/bin/program
3000-8000 rw-p 00000000 00:00 0
8000-9000 ---p 00000000 00:00 0
9000-f000 rw-p 00000000 00:00 0
";
        let mappings = writable(maps);
        assert_eq!(mappings.len(), 3);
        let worker = Thread { id: 7, name: "worker".to_owned(), stack_pointer: Some(0xe000) };
        let main = Thread { id: 1, name: "main".to_owned(), stack_pointer: None };
        let place = |address| Place::of(address, &mappings, &[main.clone(), worker.clone()]);
        assert_eq!(place(0x2010), Place::Data("/usr/bin/program".to_owned()));
        assert_eq!(place(0x3010), Place::Heap);
        let stack = |below| Place::Stack { thread: 1, name: "worker".to_owned(), below };
        assert_eq!(place(0xdff0), stack(16));
        assert_eq!(place(0xe010), stack(-16));
    }
}
