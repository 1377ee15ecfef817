//! The services of roaming (TS 23.501 §4.2.4).

/// The first segments of their paths. Metrics count all others as `other`.
pub(crate) const SERVICES: [&str; 28] = [
    "nnrf-disc",
    "nnrf-nfm",
    "oauth2",
    "nausf-auth",
    "nausf-sorprotection",
    "nausf-upuprotection",
    "nudm-uecm",
    "nudm-sdm",
    "nudm-ueau",
    "nudm-ee",
    "nudm-pp",
    "nudm-mt",
    "namf-comm",
    "namf-evts",
    "namf-loc",
    "namf-mt",
    "nsmf-pdusession",
    "nsmf-event-exposure",
    "nnssf-nsselection",
    "npcf-ue-policy-control",
    "npcf-am-policy-control",
    "nchf-convergedcharging",
    "nsmsf-sms",
    "nnef-smservice",
    // Callbacks to network functions (TS 29.501 §4.4.3 leaves their paths open).
    "namf-callback",
    "nsmf-callback",
    "nudm-callback",
    "npcf-callback",
];
