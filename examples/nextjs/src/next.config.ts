const config: Readonly<Record<string, unknown>> = {
  // Next.js would compress the key set under its strong ETag. A proxy may compress everything else.
  compress: false,
  // Loaded from node_modules and not bundled, so that all routes share one copy. Add your adapters here.
  serverExternalPackages: ["@signpost/core", "@signpost/local"],
};

export default config;
