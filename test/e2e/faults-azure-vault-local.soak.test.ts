import { campaignTest } from "./support/fault-campaign.ts";

campaignTest("azure-key-vault");
campaignTest("vault-transit");
campaignTest("local");
