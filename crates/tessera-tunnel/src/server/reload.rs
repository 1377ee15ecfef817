//! Files and settings that are loaded again while connections run.
