//! Why an experiment failed.

use std::{error, fmt, io};

use nix::errno::Errno;
use tessera_link::LinkError;

/// Why an experiment failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum LabError {
    /// The options are invalid; the text names the option, the reason and the remedy.
    Options(String),
    /// The link could not be made or changed.
    Link(LinkError),
    /// An endpoint's process failed.
    Endpoint {
        /// Which.
        name: &'static str,
        /// The error.
        what: String,
        /// The process's standard error.
        stderr: String,
    },
    /// A connection failed or was not of the intended way, so measuring it would be pointless.
    Connection(String),
    /// A step failed.
    System {
        /// The step.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl LabError {
    /// Creates a step that failed.
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(what) | Self::Connection(what) => f.write_str(what),
            Self::Link(error) => f.write_str(&link_words(error)),
            Self::Endpoint { name, what, stderr } if stderr.is_empty() => {
                write!(f, "the {name}'s process failed: {what}")
            }
            Self::Endpoint { name, what, stderr } => {
                write!(f, "the {name}'s process failed: {what}; it wrote:\n{stderr}")
            }
            Self::System { doing, source } => write!(f, "{doing}: {}", words(source)),
        }
    }
}

impl error::Error for LabError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Link(error) => Some(error),
            Self::System { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<LinkError> for LabError {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

/// Describes an error of a link, with the option that helps.
pub(crate) fn link_words(error: &LinkError) -> String {
    let innermost = match error {
        LinkError::NoEmulation { reason: Some(reason) } => reason,
        other => other,
    };
    let option = match innermost {
        LinkError::Unavailable { .. } => {
            "; `--link loopback` works without it, and emulates nothing"
        }
        LinkError::NoEmulation { reason: None } => " (`--link tun`)",
        _ => "",
    };
    format!("{error}{option}")
}

/// Describes a system error, without the number that `io::Error` adds: the text is for people, and programs have the
/// source.
pub(crate) fn words(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(errno) if errno != Errno::UnknownErrno => errno.desc().to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tessera_link::Prerequisite;

    use super::*;

    #[test]
    fn the_error_about_a_missing_link_names_the_option_that_helps() {
        let source = || io::Error::from(io::ErrorKind::PermissionDenied);
        let unavailable =
            || LinkError::Unavailable { missing: Prerequisite::TunDevice, source: source() };
        let wanted = LinkError::NoEmulation { reason: Some(Box::new(unavailable())) };
        for error in [unavailable(), wanted] {
            let message = LabError::from(error).to_string();
            assert!(
                message.ends_with("; `--link loopback` works without it, and emulates nothing")
            );
        }
        let message = LabError::from(LinkError::NoEmulation { reason: None }).to_string();
        let expected = "a loopback link emulates nothing: leave its parameters out, or ask for an emulated link \
                        (`--link tun`)";
        assert_eq!(message, expected);
    }

    #[test]
    fn a_system_error_of_the_lab_is_reported_in_words() {
        let full = io::Error::from_raw_os_error(Errno::ENOSPC as i32);
        let error = LabError::system("writing the report")(full);
        assert_eq!(error.to_string(), "writing the report: No space left on device");
        assert_eq!(words(&io::Error::other("too late")), "too late");
        let unheard_of = io::Error::from_raw_os_error(9_999);
        assert!(words(&unheard_of).contains("9999"), "{unheard_of}");
    }
}
