import { campaignTest } from "./support/fault-campaign.ts";

campaignTest("gcp-kms");
campaignTest("gcp-kms-rest");
