"""The stages of the pipeline, one file each. A stage loads, skips, thinks, saves, tells; everything else is the runtime's."""
