//! The report: the document of `scripts/firmware`, as it was written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::names::{once, printable};
use super::suites::{self, FAST, KemOperation, Suite, SuiteName, Suites};
use crate::error::{LabError, words};
use crate::experiment::limits::CheckResult;

/// The name of the experiment.
pub(crate) const NAME: &str = "embedded";

/// What images of a Cortex-M33 take.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    /// The revision of the images' source.
    pub(crate) revision: String,
    pub(crate) compiler: String,
    pub(crate) opt_level: String,
    /// Whether everything was done that makes images smaller.
    pub(crate) small: bool,
    /// How many connections each image made in its run.
    pub(crate) connections: u64,
    pub(crate) images: Vec<Image>,
    pub(crate) operations: Vec<Operation>,
    /// Handshakes by suite, each time at another level of optimization.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) suites: Vec<Suites>,
    /// KEMs alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) kems: Vec<KemOperation>,
}

/// An image: a client, and a server for it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) image: String,
    /// Whether the client connects to OpenSSL.
    pub(crate) openssl: String,
    pub(crate) client: Client,
    pub(crate) server: End,
    /// The first handshake, in which the client didn't know the chain or the key yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) full: Option<Ends>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) chains: Vec<Chain>,
}

/// Both ends of a handshake.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Ends {
    pub(crate) client: End,
    pub(crate) server: End,
}

/// Handshakes with a server's chain: with one that the client sees for the first time, and with one that it knows.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Chain {
    pub(crate) keys: String,
    pub(crate) certificates: u32,
    pub(crate) full: Ends,
    pub(crate) cached: Ends,
}

/// A client alone, and the client's end of a handshake.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Client {
    /// .text and .rodata.
    pub(crate) flash: u32,
    pub(crate) sections: Sections,
    /// What each crate takes in flash.
    pub(crate) crates: BTreeMap<String, u32>,
    #[serde(flatten)]
    pub(crate) end: End,
}

/// Sizes in bytes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Sections {
    #[serde(rename = ".text")]
    pub(crate) text: u32,
    #[serde(rename = ".rodata")]
    pub(crate) rodata: u32,
    #[serde(rename = ".data")]
    pub(crate) data: u32,
    #[serde(rename = ".bss")]
    pub(crate) bss: u32,
}

/// What an end takes in a handshake, in bytes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) stack: u32,
    pub(crate) heap: u32,
    /// What must be free of the heap for a connection to start, so that nothing fails later, whatever the peer sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) needed: Option<u32>,
    /// Of the heap, before a connection and after it: the configuration.
    pub(crate) kept: u32,
    pub(crate) allocations: u32,
    pub(crate) instructions: u64,
    pub(crate) sent: u32,
    /// The records' buffers.
    pub(crate) buffers: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) messages: Vec<Message>,
}

/// A message that an end reads or writes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) message: String,
    pub(crate) instructions: u64,
    pub(crate) stack: u32,
    pub(crate) heap: u32,
}

/// An operation alone.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Operation {
    pub(crate) operation: String,
    pub(crate) instructions: u64,
    pub(crate) stack: u32,
}

impl Report {
    /// Parses a document; an error is what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let report: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        report.check()?;
        Ok(report)
    }

    /// Reads a recorded one.
    pub(crate) fn read(path: &Path) -> Result<Self, LabError> {
        let wrong = |what: String| {
            // It may have text of the document.
            let what = what.replace(char::is_control, " ");
            LabError::Options(format!("{} {what}", path.display()))
        };
        let text = fs::read_to_string(path)
            .map_err(|error| wrong(format!("can't be read: {}", words(&error))))?;
        Self::parse(&text)
            .map_err(|what| wrong(format!("is not a report of `tessera lab {NAME}`: {what}")))
    }

    /// Returns the suites at a level of optimization.
    pub(crate) fn suites_at(&self, opt_level: &str) -> &[Suite] {
        let found = self.suites.iter().find(|it| it.opt_level == opt_level);
        found.map_or(&[], |suites| &suites.rows)
    }

    /// Returns the suite of a name, at opt-level 3.
    pub(crate) fn suite(&self, name: SuiteName<'_>) -> Option<&Suite> {
        self.suites_at(FAST).iter().find(|it| it.name() == name)
    }

    /// Rejects a report that no run writes.
    fn check(&self) -> CheckResult {
        if self.experiment != NAME {
            return Err(format!("it is of the experiment `{}`, not of `{NAME}`", self.experiment));
        }
        if self.images.is_empty() {
            return Err("it has no image".to_owned());
        }
        let setting = [&self.revision, &self.compiler, &self.opt_level];
        printable("revision, compiler or opt-level", setting.into_iter().map(String::as_str))?;
        once("the images", self.images.iter().map(|it| [it.image.as_str()]))?;
        once("the operations", self.operations.iter().map(|it| [it.operation.as_str()]))?;
        suites::check(&self.suites, &self.kems)?;
        self.images
            .iter()
            .try_for_each(|image| image.check().map_err(|what| format!("{}: {what}", image.image)))
    }
}

impl Image {
    fn check(&self) -> CheckResult {
        let Client { flash, sections, crates, end } = &self.client;
        let sum = |values: &mut dyn Iterator<Item = u32>| values.map(u64::from).sum::<u64>();
        let of_sections = sum(&mut [sections.text, sections.rodata].into_iter());
        let of_crates = sum(&mut crates.values().copied());
        for (what, is) in [(".text and .rodata", of_sections), ("the crates", of_crates)] {
            if is != u64::from(*flash) {
                return Err(format!("{what} are {is} bytes, but the flash is {flash}"));
            }
        }
        once("the crates", crates.keys().map(|it| [it.as_str()]))?;
        let messages = end.messages.iter().chain(&self.server.messages).map(|it| &it.message);
        let shown = messages.chain(self.chains.iter().map(|it| &it.keys)).chain([&self.openssl]);
        printable("the messages, chains or OpenSSL", shown.map(String::as_str))
    }
}

impl End {
    /// Returns all of its RAM: stack, heap and buffers.
    pub(crate) fn ram(&self) -> u64 {
        [self.stack, self.heap, self.buffers].map(u64::from).iter().sum()
    }

    /// Returns the same with the heap that must be there for a connection to start.
    pub(crate) fn ram_to_start(&self) -> Option<u64> {
        Some([self.stack, self.kept, self.needed?, self.buffers].map(u64::from).iter().sum())
    }
}
