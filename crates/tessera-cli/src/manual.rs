//! `tessera manual`: a page per command, from the text of its help.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use tessera_kit::{ProgramError, SettingFile};

use crate::arguments::Arguments;

/// Writes the pages into this directory, which it creates if necessary.
pub(crate) fn write(directory: &Path) -> Result<(), ProgramError> {
    let setting = SettingFile { setting: "manual", path: directory };
    let written = fs::create_dir_all(directory).and_then(|()| {
        let mut program = Arguments::command().disable_help_subcommand(true);
        program.build();
        write_all(&program, &[], directory)
    });
    written.map_err(|error| ProgramError::output(setting, &error))
}

/// Writes the page of a command, and those of its subcommands.
fn write_all(command: &Command, above: &[&str], directory: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let parts: Vec<_> = command.get_subcommands().filter(|part| !part.is_hide_set()).collect();
    let mut related = above.to_vec();
    related.extend(parts.iter().filter_map(|part| part.get_display_name()));
    fs::write(directory.join(format!("{name}.1")), page(command, &related)?)?;
    let above = [above, &[name]].concat();
    parts.into_iter().try_for_each(|part| write_all(part, &above, directory))
}

fn page(command: &Command, related: &[&str]) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .source(concat!("tessera ", env!("CARGO_PKG_VERSION")))
        .manual("Tessera");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(after) = command.get_after_help() {
        last_words(&after.to_string()).to_writer(&mut page)?;
    }
    see_also(related).to_writer(&mut page)?;
    Ok(page)
}

/// Renders what follows the options in the help: examples verbatim, and sentences.
fn last_words(text: &str) -> Roff {
    let mut roff = Roff::new();
    let (mut sentences, mut begun) = (Vec::new(), false);
    for line in text.lines().filter(|line| !line.is_empty() && *line != "Examples:") {
        match line.strip_prefix("  ") {
            None => sentences.push(line),
            Some(example) => {
                if !begun {
                    roff.control("SH", ["EXAMPLES"]).control("nf", []);
                    begun = true;
                }
                roff.text([roman(example)]);
            }
        }
    }
    if begun {
        roff.control("fi", []);
    }
    if !sentences.is_empty() {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(sentences.join(" "))]);
    }
    roff
}

fn see_also(related: &[&str]) -> Roff {
    let mut roff = Roff::new();
    if related.is_empty() {
        return roff;
    }
    roff.control("SH", ["SEE ALSO"]);
    let mut names = Vec::new();
    for name in related {
        let before = if names.is_empty() { "" } else { ", " };
        names.extend([roman(before), bold(*name), roman("(1)")]);
    }
    roff.text(names);
    roff
}
