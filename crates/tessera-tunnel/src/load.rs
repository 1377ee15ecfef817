//! Where a configuration comes from.

use std::path::{Path, PathBuf};

use tessera_kit::ProgramError;
use tessera_proxy::config::{Document, key_of};

use crate::config::Tunnels;

/// The source of a configuration.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file, read again at each reload.
    File(PathBuf),
    /// A command line. It doesn't change: a reload only reads the files that it names.
    CommandLine(Box<Tunnels>),
}

/// A configuration as read, with the source that locates its errors.
#[derive(Debug)]
pub(crate) struct LoadedTunnels {
    pub(crate) tunnels: Tunnels,
    document: Option<Document>,
}

impl Source {
    /// Reads the current configuration.
    pub(crate) fn load(&self) -> Result<LoadedTunnels, ProgramError> {
        let path = match self {
            Self::CommandLine(tunnels) => {
                return LoadedTunnels { tunnels: (**tunnels).clone(), document: None }.checked();
            }
            Self::File(path) => path,
        };
        let document = Document::read(path)?;
        let tunnels: Tunnels = document.parse()?;
        if tunnels.server.is_empty() && tunnels.client.is_empty() {
            return Err(ProgramError::in_file(
                path,
                "no tunnel is configured: add a [server.NAME] or a [client.NAME]",
            ));
        }
        LoadedTunnels { tunnels, document: Some(document) }.checked()
    }

    /// Returns the path, if the source is a file.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::CommandLine(_) => None,
        }
    }
}

impl LoadedTunnels {
    /// Checks for contradictions, without reading the files that it names.
    fn checked(self) -> Result<Self, ProgramError> {
        match self.tunnels.check() {
            Ok(()) => Ok(self),
            Err(error) => Err(self.locate(error)),
        }
    }

    /// Adds the line of the key, or its option, to an error of the form `[server.NAME] key: what`. Returns other errors
    /// unchanged: they name another file.
    pub(crate) fn locate(&self, error: ProgramError) -> ProgramError {
        let Some(document) = &self.document else {
            return match &error {
                ProgramError::Settings(text) => match key_of(text) {
                    Some((path, what)) => {
                        ProgramError::settings(format!("{}: {what}", option(&path)))
                    }
                    None => error,
                },
                _ => error,
            };
        };
        document.locate(error)
    }
}

/// Returns the option for a key; those of `[limits]` have the prefix `limit-`.
fn option(path: &[&str]) -> String {
    match path {
        [.., "limits", key] => format!("--limit-{key}"),
        [.., "peers"] => "--ca".to_owned(),
        [.., key] => format!("--{key}"),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_keys_name_their_options_on_a_command_line() {
        let loaded = LoadedTunnels { tunnels: Tunnels::default(), document: None };
        for (what, told) in [
            ("[server.a] state-key: it is wrong", "--state-key: it is wrong"),
            ("[server.a] limits.connect: it is wrong", "--limit-connect: it is wrong"),
            ("[server.a] peers.names: it is wrong", "--names: it is wrong"),
            ("[client.a] peers: no peer is named", "--ca: no peer is named"),
        ] {
            assert_eq!(loaded.locate(ProgramError::settings(what)).to_string(), told);
        }
    }

    #[test]
    fn errors_about_keys_have_the_line_of_the_key() {
        let text = "[process]\ndrain = 1\n[server.a]\nlisten = \":1\"\nforward = \":2\"\n[server.a.peers]\nca = \"x\"\n";
        let document = Document::from_text(Path::new("t.toml"), text.to_owned());
        let loaded = LoadedTunnels { tunnels: Tunnels::default(), document: Some(document) };
        for (what, at) in [
            ("[server.a] listen: it is wrong", "t.toml:4: "),
            ("[server.a] peers.ca: it is wrong", "t.toml:7: "),
            ("something else", "something else"),
        ] {
            let told = loaded.locate(ProgramError::settings(what)).to_string();
            assert!(told.starts_with(at), "{told}");
        }
    }
}
