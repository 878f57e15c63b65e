/** How many files, sockets included, this process may open. Node has raised the soft limit to the hard one. Undefined if unknown. */
export function openFileLimit(): number | undefined {
  const { userLimits } = process.report.getReport() as { readonly userLimits?: UserLimits };
  const limit = userLimits?.open_files?.soft;
  return limit === "unlimited" ? Number.MAX_SAFE_INTEGER : limit;
}

interface UserLimits {
  readonly open_files?: { readonly soft: number | "unlimited" };
}
